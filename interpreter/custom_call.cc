#include "heddle/interpreter/custom_call.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/calls/backend_config.h"
#include "heddle/interpreter/internal/custom_calls.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

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

const Instruction& CustomCall::instruction() const { return args_.instruction; }
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

StatusOr<int64_t> CustomCall::integer(std::string_view name) const {
  return config_integer(args_.instruction, name);
}
StatusOr<double> CustomCall::number(std::string_view name) const {
  return config_number(args_.instruction, name);
}
StatusOr<bool> CustomCall::boolean(std::string_view name) const {
  return config_boolean(args_.instruction, name);
}
StatusOr<std::string> CustomCall::text(std::string_view name) const {
  return config_text(args_.instruction, name);
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

}  // namespace heddle::interpreter
