// Metadata: {op_type="add" op_name="jit(f)/add" source_file="f.py" source_line=3}.
#include <span>

#include "heddle/hlo/text/internal/values.h"

namespace heddle::hlo::text {
namespace {

struct TextMember {
  std::string_view name;
  std::string Metadata::*member;
};
struct NumberMember {
  std::string_view name;
  int64_t Metadata::*member;
};

// In printed order, profile_type between the first numbers and the last texts.
constexpr TextMember kFirst[] = {{"op_type", &Metadata::op_type},
                                 {"op_name", &Metadata::op_name},
                                 {"source_file", &Metadata::source_file}};
constexpr NumberMember kLines[] = {{"source_line", &Metadata::source_line},
                                   {"source_end_line", &Metadata::source_end_line},
                                   {"source_column", &Metadata::source_column},
                                   {"source_end_column", &Metadata::source_end_column}};
constexpr TextMember kLast[] = {{"deduplicated_name", &Metadata::deduplicated_name},
                                {"scheduling_name", &Metadata::scheduling_name}};
constexpr NumberMember kFrame[] = {{"stack_frame_id", &Metadata::stack_frame_id}};
// Read and dropped: older XLAs wrote them.
constexpr std::string_view kOld[] = {"creation_pass_id", "logical_creation_pass_id",
                                     "size_of_generated_code_in_bytes",
                                     "size_of_memory_working_set_in_bytes", "preserve_layout"};

class MetadataWriter {
 public:
  MetadataWriter(std::string& out, const Metadata& metadata) : out_(out), metadata_(metadata) {}

  void write(std::span<const TextMember> members) {
    for (const TextMember& member : members) {
      const std::string& value = metadata_.*(member.member);
      if (value.empty()) continue;
      start(member.name);
      append_quoted(out_, value);
    }
  }
  void write(std::span<const NumberMember> members) {
    for (const NumberMember& member : members) {
      if (metadata_.*(member.member) == 0) continue;
      start(member.name);
      base::append(out_, metadata_.*(member.member));
    }
  }
  void write_profile_type() {
    if (metadata_.profile_type.empty()) return;
    start("profile_type");
    Codec<Dims>::write(out_, metadata_.profile_type);
  }

 private:
  void start(std::string_view name) {
    base::append(out_, first_ ? "" : " ", name, "=");
    first_ = false;
  }

  std::string& out_;
  const Metadata& metadata_;
  bool first_ = true;
};

template <class Member>
const Member* find(std::span<const Member> members, std::string_view name) {
  for (const Member& member : members) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

bool read_text_member(TextCursor& in, const TextMember* member, Metadata& value) {
  return in.read_string(value.*(member->member));
}
bool read_number_member(TextCursor& in, const NumberMember* member, Metadata& value) {
  return in.read_int(value.*(member->member));
}

bool drop_value(TextCursor& in) {
  bool ignored = false;
  int64_t number = 0;
  return in.peek_word().empty() ? in.read_int(number) : in.read_bool(ignored);
}

bool read_member(TextCursor& in, std::string_view name, Metadata& value) {
  if (const auto* text = find<TextMember>(kFirst, name)) return read_text_member(in, text, value);
  if (const auto* number = find<NumberMember>(kLines, name))
    return read_number_member(in, number, value);
  if (const auto* text = find<TextMember>(kLast, name)) return read_text_member(in, text, value);
  if (const auto* number = find<NumberMember>(kFrame, name))
    return read_number_member(in, number, value);
  if (name == "profile_type") return Codec<Dims>::read(in, value.profile_type);
  for (std::string_view old : kOld) {
    if (old == name) return drop_value(in);
  }
  return in.fail("metadata has no ", name);
}

}  // namespace

void Codec<Metadata>::write(std::string& out, const Metadata& value) {
  out.push_back('{');
  MetadataWriter writer(out, value);
  writer.write(kFirst);
  writer.write(kLines);
  writer.write_profile_type();
  writer.write(kLast);
  writer.write(kFrame);
  out.push_back('}');
}

bool Codec<Metadata>::read(TextCursor& in, Metadata& value) {
  return read_pairs(in, [&](std::string_view name) { return read_member(in, name, value); });
}

}  // namespace heddle::hlo::text
