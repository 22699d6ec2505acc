#include "heddle/pjrt/internal/xla_flags.h"

#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>

#include "heddle/base/settings.h"
#include "heddle/base/strings.h"
#include "heddle/pjrt/internal/environment.h"
#include "heddle/pjrt/internal/mapped_file.h"

namespace heddle::pjrt {
namespace {

using google::protobuf::FieldDescriptorProto;
using FlagTypes = std::map<std::string, FieldDescriptorProto::Type, std::less<>>;

constexpr char kVariable[] = "XLA_FLAGS";
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kExtraOptions = "xla_backend_extra_options";

// Stand in XLA's libraries by name and are no flags.
constexpr std::string_view kOnlyExtraOptions[] = {
    "xla_cpu_disable_loop_unrolling",
    "xla_cpu_disable_new_fusion_emitters",
    "xla_cpu_disable_platform_dependent_math",
    "xla_cpu_disable_slp_vectorizer",
    "xla_cpu_optimize_for_size",
    "xla_cpu_small_while_loop_byte_threshold",
    "xla_force_enable_experimental_llvm_ir_gemm",
    "xla_llvm_dot_tiling_factor",
    "xla_llvm_ir_gemm_tile_size",
};

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// What stands in quotes from text[at] on, without them; `at` goes behind them. Between double ones
// a backslash keeps what follows it.
std::string unquoted(std::string_view text, size_t& at) {
  const char quote = text[at++];
  std::string value;
  for (; at < text.size() && text[at] != quote; ++at) {
    if (quote == '"' && text[at] == '\\' && at + 1 < text.size()) ++at;
    value += text[at];
  }
  if (at < text.size()) ++at;
  return value;
}

// The word that begins at text[at]; `at` goes behind it.
std::string next_word(std::string_view text, size_t& at) {
  const size_t begin = at;
  while (at < text.size() && is_of_name(text[at])) ++at;
  const bool has_value = at + 1 < text.size() && text[at] == '=';
  if (has_value && (text[at + 1] == '"' || text[at + 1] == '\'')) {
    std::string word(text.substr(begin, ++at - begin));
    return word + unquoted(text, at);
  }
  at = std::min(text.size(), text.find_first_of(kSpace, at));
  return std::string(text.substr(begin, at - begin));
}

// Where the flags stand.
struct Source {
  std::string text;
  std::string place;    // for messages
  std::string no_file;  // the name of one that is not there
  bool is_text = true;  // or a file that has none: a folder, or one that can be read but once
};

Source find_flags() {
  Source source{.text = base::environment_variable(kVariable), .place = kVariable};
  const size_t first = source.text.find_first_not_of(kSpace);
  if (source.text.empty() || (first != std::string::npos && source.text[first] == '-'))
    return source;
  const std::string path = std::move(source.text);
  source.text.clear();
  source.place = base::cat("the file ", path, " that ", kVariable, " names");
  if (access(path.c_str(), R_OK) != 0) source.no_file = path;
  std::error_code ignored;
  source.is_text = std::filesystem::is_regular_file(path, ignored);
  if (!source.is_text) return source;
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  source.text = text.str();
  return source;
}

// The bytes of a message that stands at the beginning and whose length is not known: its fields
// follow by number. Of a FileDescriptorProto, whose fields are these.
int description_bytes(std::string_view bytes) {
  constexpr uint32_t kLastField = 14;  // edition
  constexpr size_t kMost = 1 << 20;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(std::min(bytes.size(), kMost)));
  int end = 0;
  uint32_t last = 1;
  while (const uint32_t tag = in.ReadTag()) {
    uint64_t number = 0;
    uint32_t length = 0;
    if (tag >> 3 < last || tag >> 3 > kLastField) break;
    const bool is_number = (tag & 7) == 0 && in.ReadVarint64(&number);
    const bool is_text = (tag & 7) == 2 && in.ReadVarint32(&length) && length <= kMost &&
                         in.Skip(static_cast<int>(length));
    if (!is_number && !is_text) break;
    last = tag >> 3;
    end = in.CurrentPosition();
  }
  return end;
}

// XLA's flags are, but for few, the fields of a message, whose description its libraries hold. None
// where it is not found.
FlagTypes flag_types(const MappedFile& library) {
  const std::string_view bytes = library.from("\n\rxla/xla.proto");
  google::protobuf::FileDescriptorProto described;
  FlagTypes types;
  if (!described.ParsePartialFromArray(bytes.data(), description_bytes(bytes))) return types;
  for (const auto& message : described.message_type()) {
    if (message.name() != "DebugOptions") continue;
    for (const FieldDescriptorProto& field : message.field()) {
      const bool is_list = field.label() == FieldDescriptorProto::LABEL_REPEATED;
      types.emplace(field.name(), is_list ? FieldDescriptorProto::TYPE_STRING : field.type());
    }
  }
  return types;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kAllSpace = " \t\r\n\v\f";
  const size_t begin = std::min(text.size(), text.find_first_not_of(kAllSpace));
  return text.substr(begin, text.find_last_not_of(kAllSpace) + 1 - begin);
}

bool is_truth(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower == "true" || lower == "false" || lower == "1" || lower == "0";
}

template <class Integer>
bool is_integer(std::string_view text) {
  const std::string digits(trimmed(text));
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(digits.c_str(), &end, 10);
  return !digits.empty() && end == digits.c_str() + digits.size() && errno == 0 &&
         number >= std::numeric_limits<Integer>::min() &&
         number <= std::numeric_limits<Integer>::max();
}

bool is_number(std::string_view text) {
  const std::string digits(trimmed(text));
  char* end = nullptr;
  (void)std::strtod(digits.c_str(), &end);
  return !digits.empty() && end == digits.c_str() + digits.size();
}

// What the value of a flag of the type must be; empty where it is that, or a word of XLA's.
std::string_view wanted(FieldDescriptorProto::Type type, std::string_view value) {
  switch (type) {
    case FieldDescriptorProto::TYPE_BOOL: return is_truth(value) ? "" : "true, false, 1 or 0";
    case FieldDescriptorProto::TYPE_INT32:
      return is_integer<int32_t>(value) ? "" : "an integer of 32 bits";
    case FieldDescriptorProto::TYPE_INT64:
      return is_integer<int64_t>(value) ? "" : "an integer of 64 bits";
    case FieldDescriptorProto::TYPE_FLOAT:
    case FieldDescriptorProto::TYPE_DOUBLE: return is_number(value) ? "" : "a number";
    default: return "";
  }
}

// One library, and one text of flags for it.
class Checker {
 public:
  Checker(const std::string& plugin, const MappedFile& library, std::string place)
      : plugin_(plugin), library_(library), place_(std::move(place)), types_(flag_types(library)) {}

  Status check(const std::string& word) const {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (!is_known(name)) {
      return refused(name, ", which the plugin does not know and would end the process over; ",
                     is_only_extra_option(name)
                         ? base::cat("write --", kExtraOptions, "=", word.substr(2))
                         : std::string("take it out"));
    }
    const auto type = types_.find(name.substr(2));
    const bool is_truth = type != types_.end() && type->second == FieldDescriptorProto::TYPE_BOOL;
    if (equals != std::string::npos)
      return check_value(word, name.substr(2), std::string_view(word).substr(equals + 1));
    if (type == types_.end() || is_truth) return {};
    return refused(name, " without a value, which would end the process; write ", name, "=VALUE");
  }

 private:
  template <class... Parts>
  Status refused(const Parts&... parts) const {
    return base::failed_precondition("plugin ", plugin_, ": ", place_, " has ", parts...);
  }

  bool is_known(std::string_view flag) const {
    if (!flag.starts_with("--") || is_only_extra_option(flag)) return false;
    flag.remove_prefix(2);
    return (types_.empty() || flag.starts_with("xla_")) && library_.has_text(flag);
  }

  static bool is_only_extra_option(std::string_view flag) {
    return flag.starts_with("--") &&
           std::ranges::find(kOnlyExtraOptions, flag.substr(2)) != std::end(kOnlyExtraOptions);
  }

  Status check_value(const std::string& word, std::string_view name, std::string_view value) const {
    if (name == kExtraOptions) return check_extra_options(word, value);
    const auto type = types_.find(name);
    const std::string_view want = type == types_.end() ? "" : wanted(type->second, value);
    if (want.empty()) return {};
    return refused(word, ", which would end the process; the value must be ", want);
  }

  Status check_extra_options(const std::string& word, std::string_view value) const {
    for (size_t at = 0, end = 0; at <= value.size(); at = end + 1) {
      end = std::min(value.size(), value.find(',', at));
      const std::string_view option = value.substr(at, end - at);
      if (is_safe_option(option.substr(0, option.find('=')))) continue;
      return refused(word, ", of which XLA hands \"", option,
                     "\" to LLVM, which would end the process; options of XLA begin with xla_, "
                     "those of LLVM that the plugin has with -");
    }
    return {};
  }

  // LLVM has a name of its own for each, and answers questions by ending the process.
  bool is_safe_option(std::string_view name) const {
    if (name.starts_with("xla_")) return true;
    if (!name.starts_with("-")) return false;
    name.remove_prefix(name.starts_with("--") ? 2 : 1);
    return !name.empty() && !name.starts_with("help") && name != "version" &&
           library_.has_text(name);
  }

  const std::string& plugin_;
  const MappedFile& library_;
  const std::string place_;
  const FlagTypes types_;
};

}  // namespace

std::vector<std::string> flag_words(std::string_view text) {
  std::vector<std::string> words;
  size_t at = text.find_first_not_of(kSpace);
  while (at < text.size() && text[at] == '-') {
    words.push_back(next_word(text, at));
    words.back().resize(std::min(words.back().size(), words.back().find('\0')));
    at = std::min(text.size(), text.find_first_not_of(kSpace, at));
  }
  return words;
}

Status check_xla_flags(const std::string& plugin, const std::string& library) {
  const Source source = find_flags();
  const std::vector<std::string> words = flag_words(source.text);
  if (words.empty() && source.no_file.empty()) return {};
  const MappedFile file(library);
  if (file.from(kVariable).empty()) return {};  // not XLA's, or nothing that can be read
  if (!source.no_file.empty()) {
    return base::failed_precondition(
        "plugin ", plugin, ": ", kVariable, " is \"", source.no_file,
        "\", a file that cannot be read, which would end the process; name another file, or begin "
        "it with a flag");
  }
  const Checker checker(plugin, file, source.place);
  for (const std::string& word : words) HEDDLE_RETURN_IF_ERROR(checker.check(word));
  return {};
}

void add_xla_option(const std::string& name, int64_t value) {
  const Source source = find_flags();
  if (!source.is_text || !source.no_file.empty()) return;
  if (source.text.find(name) != std::string::npos) return;
  // In front, since a text may end before its end.
  set_environment_variable(kVariable,
                           base::cat("--", kExtraOptions, "=", name, "=", value,
                                     source.text.empty() ? "" : " ", source.text),
                           IfSet::kReplace);
}

}  // namespace heddle::pjrt
