#include "heddle/hlo/custom_call.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "heddle/hlo/internal/custom_calls.h"
#include "heddle/hlo/op.h"

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
      } else if (depth == 0 && ends.find(c) != std::string_view::npos) {
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

// The functions of the process: state that outlives every run, since plugins and user code add to
// it when they are loaded.
class Registry {
 public:
  using Function = std::shared_ptr<const CustomCallFunction>;

  static Registry& instance() {
    static auto* const kRegistry =
        new Registry;  // never destroyed: threads may still run calls when the process ends
    return *kRegistry;
  }

  bool add(std::string target, CustomCallFunction function) {
    const std::unique_lock lock(mutex_);
    return functions_
        .try_emplace(std::move(target),
                     std::make_shared<const CustomCallFunction>(std::move(function)))
        .second;
  }
  bool remove(std::string_view target) {
    const std::unique_lock lock(mutex_);
    const auto found = functions_.find(target);
    if (found == functions_.end()) return false;
    functions_.erase(found);
    return true;
  }
  Function find(std::string_view target) const {
    const std::shared_lock lock(mutex_);
    const auto found = functions_.find(target);
    return found == functions_.end() ? nullptr : found->second;
  }
  std::vector<std::string> targets() const {
    const std::shared_lock lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [target, function] : functions_) out.push_back(target);
    return out;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::string, Function, std::less<>> functions_;
};

}  // namespace

DictionaryEntry find_entry(std::string_view dictionary, std::string_view name) {
  return DictionaryReader(dictionary).find(name);
}

std::shared_ptr<const CustomCallFunction> find_custom_call(std::string_view target) {
  if (auto registered = Registry::instance().find(target)) return registered;
  CustomCallFunction builtin = find_builtin_call(target);
  return builtin ? std::make_shared<const CustomCallFunction>(std::move(builtin)) : nullptr;
}

Status register_custom_call(std::string target, CustomCallFunction function) {
  if (target.empty() || !function) {
    return base::invalid_argument("register_custom_call: ", target.empty() ? "target" : "function",
                                  " is empty");
  }
  if (find_builtin_call(target)) {
    return base::make_error(StatusCode::kAlreadyExists, "register_custom_call: target ", target,
                            " is built in; choose another name");
  }
  const std::string name = target;
  if (Registry::instance().add(std::move(target), std::move(function))) return {};
  return base::make_error(StatusCode::kAlreadyExists, "register_custom_call: target ", name,
                          " has a function; take it back with unregister_custom_call first");
}

bool unregister_custom_call(std::string_view target) { return Registry::instance().remove(target); }

std::vector<std::string> custom_call_targets() {
  std::vector<std::string> out = Registry::instance().targets();
  for (std::string& target : builtin_call_targets()) out.push_back(std::move(target));
  std::ranges::sort(out);
  return out;
}

const std::string& CustomCall::target() const {
  return args_.attrs<CustomCallAttrs>().custom_call_target;
}
std::span<const Literal> CustomCall::operands() const { return args_.operands; }
const Shape& CustomCall::result() const { return args_.result(); }
const std::string& CustomCall::backend_config() const {
  return args_.instruction.extras->backend_config;
}

Status CustomCall::check_size(size_t operands) const {
  if (size() == operands) return {};
  return error("has ", size(), " operands; takes ", operands);
}

Status CustomCall::check_dtype(size_t i, DType dtype) const {
  if (i >= size()) return error("has ", size(), " operands; operand ", i, " was asked for");
  if (operands()[i].shape().dtype() == dtype) return {};
  return error("operand ", i, " is ", operands()[i].shape(), "; its elements must be ", dtype);
}

StatusOr<Literal> CustomCall::take(size_t i) {
  if (i >= size()) return error("has ", size(), " operands; operand ", i, " was asked for");
  return std::move(args_.operands[i]);
}

namespace {

StatusOr<std::string_view> value_of(const CustomCall& call, std::string_view name) {
  const DictionaryEntry entry = find_entry(call.backend_config(), name);
  if (entry.found) return entry.value;
  return base::not_found("custom-call: ", call.target(), ": backend_config has no entry ", name,
                         "; it is ",
                         call.backend_config().empty() ? "empty" : call.backend_config());
}

Status wrong_kind(const CustomCall& call, std::string_view name, std::string_view value,
                  std::string_view kind) {
  return call.error("backend_config has ", name, " = ", value, "; must be ", kind);
}

}  // namespace

StatusOr<int64_t> CustomCall::integer(std::string_view name) const {
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view value, value_of(*this, name));
  int64_t out = 0;
  if (parse(value, out)) return out;
  return wrong_kind(*this, name, value, "an integer");
}

StatusOr<double> CustomCall::number(std::string_view name) const {
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view value, value_of(*this, name));
  double out = 0;
  if (parse(value, out)) return out;
  return wrong_kind(*this, name, value, "a number");
}

StatusOr<bool> CustomCall::boolean(std::string_view name) const {
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view value, value_of(*this, name));
  if (value == "true" || value == "false") return value == "true";
  return wrong_kind(*this, name, value, "true or false");
}

StatusOr<std::string> CustomCall::text(std::string_view name) const {
  HEDDLE_ASSIGN_OR_RETURN(const std::string_view value, value_of(*this, name));
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  if (quoted) return unquoted(value.substr(1, value.size() - 2));
  return wrong_kind(*this, name, value, "text in quotes");
}

size_t CustomCall::computation_count() const { return args_.instruction.called.size(); }

StatusOr<Literal> CustomCall::call(size_t which, std::span<const Literal> arguments) {
  if (which >= computation_count()) {
    return error("names ", computation_count(), " computations; number ", which, " was called");
  }
  const Computation& computation = args_.caller.computation(which);
  bool fits = arguments.size() == computation.parameter_count();
  for (size_t i = 0; fits && i < arguments.size(); ++i) {
    fits = same_type(arguments[i].shape(), computation.parameter_shape(i));
  }
  if (!fits)
    return error("computation ", which,
                 " was called with arguments of other types than its parameters");
  return args_.caller.call_on(which, arguments);
}

}  // namespace heddle::hlo
