#include <algorithm>
#include <map>
#include <optional>

#include "heddle/base/text/text_cursor.h"
#include "heddle/hlo/wire/internal/codec.h"
#include "heddle/hlo/wire/internal/places.h"
#include "heddle/hlo/wire/proto/heddle_hlo.pb.h"

namespace heddle::hlo::wire {
namespace {

constexpr std::string_view kSynthetic = "{[synthetic_call]}";

// ---- from text: {({"a"}, {"b" {1}}, {})}

bool read_index(TextCursor& in, proto::OriginalArrayProto& to) {
  for (bool first = true; !in.accept('}'); first = false) {
    int64_t value = 0;
    if (!first && !in.expect(',')) return false;
    if (!in.read_int(value)) return false;
    to.add_shape_index(value);
  }
  return true;
}

// "b" {1}, after a brace.
bool read_array(TextCursor& in, proto::OriginalArrayProto& to) {
  std::string name;
  if (!in.read_string(name)) return false;
  to.set_instruction_name(valid_utf8(name));
  return (!in.accept('{') || read_index(in, to)) && in.expect('}');
}

// One element for every part of a tuple, and one for the tuple, as XLA has them.
bool read_tree(TextCursor& in, Dims& index, proto::OriginalValueProto& to) {
  proto::OriginalValueElementProto& element = *to.add_elements();
  element.mutable_shape_index()->Assign(index.begin(), index.end());
  if (in.accept('{')) return in.accept('}') || read_array(in, *element.mutable_original_array());
  if (index.size() == kMaxTupleNesting || !in.expect('(')) return false;
  for (int64_t i = 0; !in.accept(')'); ++i) {
    if (i > 0 && !in.expect(',')) return false;
    index.push_back(i);
    if (!read_tree(in, index, to)) return false;
    index.pop_back();
  }
  return true;
}

std::optional<proto::OriginalValueProto> parsed(const std::string& text) {
  proto::OriginalValueProto out;
  if (text == kSynthetic) {
    out.set_is_synthetic_call(true);
    return out;
  }
  TextCursor in(text);
  Dims index;
  if (in.expect('{') && read_tree(in, index, out) && in.expect('}') && in.at_end()) return out;
  return {};
}

// ---- to text

using Elements = std::map<Dims, const proto::OriginalValueElementProto*>;

bool has_part(const Elements& elements, const Dims& index) {
  const auto found = elements.lower_bound(index);
  return found != elements.end() && found->first.size() >= index.size() &&
         std::equal(index.begin(), index.end(), found->first.begin());
}

void print_array(const proto::OriginalArrayProto& array, std::string& out) {
  append_quoted(out, array.instruction_name());
  if (array.shape_index_size() > 0)
    base::append(out, " {", base::join(array.shape_index(), ","), "}");
}

void print_tree(const Elements& elements, Dims& index, std::string& out) {
  if (index.size() > kMaxTupleNesting) return;
  index.push_back(0);
  const bool is_tuple = has_part(elements, index);
  if (is_tuple) out.push_back('(');
  for (; has_part(elements, index); ++index.back()) {
    if (index.back() > 0) out.append(", ");
    print_tree(elements, index, out);
  }
  index.pop_back();
  if (is_tuple) return out.push_back(')');
  out.push_back('{');
  const auto found = elements.find(index);
  if (found != elements.end() && found->second->has_original_array())
    print_array(found->second->original_array(), out);
  out.push_back('}');
}

std::string printed(const proto::OriginalValueProto& from) {
  if (from.is_synthetic_call()) return std::string(kSynthetic);
  Elements elements;
  for (const proto::OriginalValueElementProto& each : from.elements())
    elements.emplace(Dims(each.shape_index().begin(), each.shape_index().end()), &each);
  std::string out = "{";
  Dims index;
  print_tree(elements, index, out);
  return out + "}";
}

}  // namespace

// Only where the text says all that the message does.
void take_origin(proto::HloInstructionProto& from, InstructionExtras& to) {
  if (!from.has_original_value()) return;
  const std::string text = printed(from.original_value());
  const auto again = parsed(text);
  if (!again || bytes_of(*again) != bytes_of(from.original_value())) return;
  to.origin = text;
  from.clear_original_value();
}

void write_origin(const std::string& origin, proto::HloInstructionProto& to) {
  if (auto value = parsed(origin)) {
    *to.mutable_original_value() = *std::move(value);
  } else {
    to.set_origin_text(origin);
  }
}

}  // namespace heddle::hlo::wire
