#include "heddle/hlo/calls/backend_config.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"

namespace heddle::hlo {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Walks over the entries of a dictionary, without understanding their values.
class DictionaryReader {
 public:
  explicit DictionaryReader(std::string_view text) : text_(trimmed(text)) {
    if (text_.size() < 2 || text_.front() != '{' || text_.back() != '}') {
      text_ = {};
    } else {
      text_ = text_.substr(1, text_.size() - 2);
    }
  }

  DictionaryEntry find(std::string_view name) {
    while (!text_.empty()) {
      const std::string_view entry = trimmed(take_until(","));
      const auto [key, value] = split(entry);
      if (key == name) return {true, value};
    }
    return {};
  }

 private:
  static std::pair<std::string_view, std::string_view> split(std::string_view entry) {
    DictionaryReader reader(entry, 0);
    std::string_view key = trimmed(reader.take_until("=:"));
    const bool is_json = key.size() >= 2 && key.front() == '"';
    if (is_json) key = key.substr(1, key.size() - 2);
    std::string_view value = reader.text_;
    if (!is_json) {  // leave out ": type"
      DictionaryReader typed(value, 0);
      value = typed.take_until(":");
    }
    value = trimmed(value);
    return {key, value.empty() ? "true" : value};
  }

  DictionaryReader(std::string_view text, int) : text_(text) {}

  // Text up to the first of the characters that stands outside of strings and brackets; takes it
  // and the character away.
  std::string_view take_until(std::string_view ends) {
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quoted) {
        if (c == '\\') ++i;
        quoted = c != '"';
      } else if (c == '"') {
        quoted = true;
      } else if (depth == 0 && std::ranges::count(ends, c) > 0) {
        const std::string_view taken = text_.substr(0, i);
        text_.remove_prefix(i + 1);
        return taken;
      } else if (c == '{' || c == '[' || c == '(' || c == '<') {
        ++depth;
      } else if (c == '}' || c == ']' || c == ')' || c == '>') {
        --depth;
      }
    }
    return std::exchange(text_, {});
  }

  std::string_view text_;
};

// The number that all of the text is.
template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// What stands between the quotes, \n, \t, \" and \\ and \4A read.
std::string unquoted(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out.push_back(text[i]);
      continue;
    }
    const char c = text[++i];
    const bool hex = i + 1 < text.size() && hex_digit(c) >= 0 && hex_digit(text[i + 1]) >= 0;
    if (hex) {
      out.push_back(static_cast<char>(hex_digit(c) * 16 + hex_digit(text[++i])));
    } else {
      out.push_back(c == 'n' ? '\n' : c == 't' ? '\t' : c);
    }
  }
  return out;
}

const std::string& target_of(const Instruction& call) {
  return call.attrs.get<CustomCallAttrs>().custom_call_target;
}

StatusOr<std::string_view> value_of(const Instruction& call, std::string_view name) {
  const std::string_view config = call.extras->backend_config;
  const DictionaryEntry entry = find_entry(config, name);
  if (entry.found) return entry.value;
  return base::not_found("custom-call: ", target_of(call), ": backend_config has no entry ", name,
                         "; it is ", config.empty() ? "empty" : config);
}

Status wrong_kind(const Instruction& call, std::string_view name, std::string_view value,
                  std::string_view kind) {
  return base::invalid_argument("custom-call: ", target_of(call), ": backend_config has ", name,
                                " = ", value, "; must be ", kind);
}

}  // namespace

DictionaryEntry find_entry(std::string_view dictionary, std::string_view name) {
  return DictionaryReader(dictionary).find(name);
}

StatusOr<int64_t> config_integer(const Instruction& call, std::string_view name) {
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view value, value_of(call, name));
  int64_t out = 0;
  if (parse(value, out)) return out;
  return wrong_kind(call, name, value, "an integer");
}

StatusOr<double> config_number(const Instruction& call, std::string_view name) {
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view value, value_of(call, name));
  double out = 0;
  if (parse(value, out)) return out;
  return wrong_kind(call, name, value, "a number");
}

StatusOr<bool> config_boolean(const Instruction& call, std::string_view name) {
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view value, value_of(call, name));
  if (value == "true" || value == "false") return value == "true";
  return wrong_kind(call, name, value, "true or false");
}

StatusOr<std::string> config_text(const Instruction& call, std::string_view name) {
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view value, value_of(call, name));
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  if (quoted) return unquoted(value.substr(1, value.size() - 2));
  return wrong_kind(call, name, value, "text in quotes");
}

}  // namespace heddle::hlo
