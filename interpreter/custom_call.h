// custom-call by name: C++ functions that programs call, in a registry of the process. The
// interpreter looks a target up when the call runs.
//
//   StatusOr<Literal> doubled(CustomCall& call) {
//     HEDDLE_ASSIGN_OR_RETURN(std::span<const float> x, call.values<float>(0));
//     Literal out = Literal::uninitialised(call.result());
//     ...
//     return out;
//   }
//   Status status = register_custom_call("doubled", doubled);
//
// Some targets are there already: JAX's LAPACK calls on a CPU (lapack_spotrf_ffi, ..), TopK and
// ApproxTopK, and those that do nothing on one device (Sharding, ..). See docs/custom_calls.md.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/literal/native.h"

namespace heddle::hlo {
struct Instruction;
}

namespace heddle::interpreter {

struct EvalArgs;

namespace custom_call_internal {

// The element type whose native type is T.
template <class T>
constexpr DType dtype_of() {
  DType found = DType::kInvalid;
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) \
  if constexpr (std::is_same_v<T, Native<DType::enumerator>>) found = DType::enumerator;
  HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
  return found;
}

}  // namespace custom_call_internal

// One call, as its function sees it.
class CustomCall {
 public:
  explicit CustomCall(EvalArgs& args) : args_(args) {}

  // The call as the program has it.
  [[nodiscard]] const hlo::Instruction& instruction() const;
  [[nodiscard]] const std::string& target() const;
  // The operands, in row-major order whatever layouts the program asks for.
  [[nodiscard]] std::span<const Literal> operands() const;
  [[nodiscard]] size_t size() const { return operands().size(); }
  const Literal& operator[](size_t i) const { return operands()[i]; }
  // What the function must return.
  [[nodiscard]] const Shape& result() const;

  // The elements of operand i, an array of T (hlo/literal/native.h).
  // errors: InvalidArgument where there is no operand i, or where it is of another type
  template <class T>
  [[nodiscard]] StatusOr<std::span<const T>> values(size_t i) const {
    HEDDLE_RETURN_IF_ERROR(check_dtype(i, custom_call_internal::dtype_of<T>()));
    return operands()[i].values<T>();
  }
  // Operand i, moved out: where nobody else reads it, it is written to without a copy. Once an
  // operand.
  [[nodiscard]] StatusOr<Literal> take(size_t i);
  // errors: InvalidArgument that says the number there must be
  [[nodiscard]] Status check_size(size_t operands) const;

  // The text of backend_config: what XLA calls opaque.
  [[nodiscard]] const std::string& backend_config() const;
  // An entry of a backend_config of the form {name = 3 : i64, ..}, as JAX writes it for typed
  // calls, or {"name": 3, ..}. errors: NotFound where there is none of the name; InvalidArgument
  // where it is of another kind
  [[nodiscard]] StatusOr<int64_t> integer(std::string_view name) const;
  [[nodiscard]] StatusOr<double> number(std::string_view name) const;
  [[nodiscard]] StatusOr<bool> boolean(std::string_view name) const;
  [[nodiscard]] StatusOr<std::string> text(std::string_view name) const;

  // The value of a computation that the call names in to_apply or called_computations.
  [[nodiscard]] size_t computation_count() const;
  [[nodiscard]] StatusOr<Literal> call(size_t which, std::span<const Literal> arguments);

  // "custom-call: TARGET: " and the parts, as an InvalidArgument.
  template <class... Parts>
  [[nodiscard]] Status error(const Parts&... parts) const {
    return base::invalid_argument("custom-call: ", target(), ": ", parts...);
  }

 private:
  [[nodiscard]] Status check_dtype(size_t i, DType dtype) const;

  EvalArgs& args_;
};

// May be called from several threads at once. What it returns must be of the call's result type;
// that is checked. An exception becomes an error that names the target.
using CustomCallFunction = std::function<StatusOr<Literal>(CustomCall&)>;

// Makes `function` the meaning of `target` in this process, for programs that run from now on. Any
// thread may. errors: AlreadyExists where the target has a function, of its own or built in;
// InvalidArgument where target or function is empty
Status register_custom_call(std::string target, CustomCallFunction function);

// Takes a registered target back; calls that run keep it until they are done. False: there is none
// (built-in ones stay).
bool unregister_custom_call(std::string_view target);

// Names of all targets, sorted.
std::vector<std::string> custom_call_targets();

}  // namespace heddle::interpreter
