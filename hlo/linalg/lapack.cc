#include "heddle/hlo/lapack.h"

#include <algorithm>

#include "heddle/hlo/internal/custom_calls.h"
#include "heddle/hlo/linalg/internal/lapack.h"
#include "heddle/hlo/op.h"

namespace heddle::hlo::linalg {
namespace {

struct Letter {
  char letter;
  DType dtype;
};
constexpr Letter kLetters[] = {{'s', f32}, {'d', f64}, {'c', c64}, {'z', c128}};
constexpr std::string_view kPrefix = "lapack_";
constexpr std::string_view kSuffix = "_ffi";

LapackFunction function_for(const LapackRoutine& routine, DType dtype) {
  switch (dtype) {
    case f32: return routine.s;
    case f64: return routine.d;
    case c64: return routine.c;
    case c128: return routine.z;
    default: return nullptr;
  }
}

std::vector<LapackRoutine> all_routines() {
  std::vector<LapackRoutine> out(lapack_factors().begin(), lapack_factors().end());
  out.insert(out.end(), lapack_values().begin(), lapack_values().end());
  return out;
}

// The routine of this type, in the types that it computes in; null where there is none.
LapackFunction find_function(const LapackName& name) {
  for (const LapackRoutine& routine : all_routines()) {
    if (routine.name == name.routine) return function_for(routine, name.dtype);
  }
  return nullptr;
}

// LAPACK calls no computations.
class NoCaller final : public Caller {
 public:
  using Caller::call_and_consume;
  using Caller::call_on;
  using Caller::map;
  Status call_and_consume(size_t, std::span<Literal>, Literal&) override { return none(); }
  Status call_on(size_t, std::span<const Literal>, Literal&) override { return none(); }
  StatusOr<Literal> map(size_t, InstructionId, std::span<const Literal>) override { return none(); }
  [[nodiscard]] const Computation& computation(size_t) const override { return none_; }

 private:
  static Status none() { return base::internal_error("a LAPACK call calls a computation"); }
  Computation none_;
};

}  // namespace

CustomCallFunction find_lapack(std::string_view target) {
  const std::optional<LapackName> name = lapack_name(target);
  const LapackFunction function = name ? find_function(*name) : nullptr;
  if (function == nullptr) return nullptr;
  return [function, dtype = name->dtype](CustomCall& call) { return function(call, dtype); };
}

std::vector<std::string> lapack_targets() {
  std::vector<std::string> out;
  for (const LapackRoutine& routine : all_routines()) {
    for (const Letter& letter : kLetters) {
      if (function_for(routine, letter.dtype) != nullptr) {
        out.push_back(base::cat(kPrefix, letter.letter, routine.name, kSuffix));
      }
    }
  }
  return out;
}

}  // namespace heddle::hlo::linalg

namespace heddle::hlo {

std::optional<LapackName> lapack_name(std::string_view target) {
  using linalg::kLetters, linalg::kPrefix, linalg::kSuffix;
  const bool has_room = target.size() > kPrefix.size() + 1 + kSuffix.size();
  if (!has_room || !target.starts_with(kPrefix) || !target.ends_with(kSuffix)) return {};
  target.remove_prefix(kPrefix.size());
  target.remove_suffix(kSuffix.size());
  const auto* letter = std::ranges::find(kLetters, target[0], &linalg::Letter::letter);
  if (letter == std::end(kLetters)) return {};
  return LapackName{target.substr(1), letter->dtype};
}

// The routine itself, of operands that have types and no values: it looks at types and options
// first, and then finds no matrices.
Status check_lapack_call(const Instruction& call, std::span<const Shape* const> operands) {
  const auto& target = call.attrs.get<CustomCallAttrs>().custom_call_target;
  const CustomCallFunction function = linalg::find_lapack(target);
  if (function == nullptr)
    return base::not_found("custom-call: ", target, ": is no LAPACK routine");
  std::vector<Literal> values;
  for (const Shape* shape : operands) {
    if (shape->is_dynamic() || !shape->is_array())
      return base::invalid_argument("custom-call: ", target, ": an operand is ", *shape,
                                    "; must be an array of known size");
    values.push_back(Literal::elided(*shape));
  }
  linalg::NoCaller caller;
  EvalArgs in{call, values, caller};
  CustomCall args(in);
  return function(args).status();
}

std::string_view lapack_option(std::string_view backend_config, std::string_view name) {
  return find_entry(backend_config, name).value;
}

}  // namespace heddle::hlo
