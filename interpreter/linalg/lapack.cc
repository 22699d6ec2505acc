#include "heddle/hlo/lapack.h"

#include <algorithm>

#include "heddle/interpreter/linalg/internal/lapack.h"

namespace heddle::interpreter::linalg {
namespace {

const LapackRoutine* find_routine(std::string_view target) {
  if (!hlo::is_lapack_target(target)) return nullptr;
  const std::optional<hlo::LapackName> name = hlo::lapack_name(target);
  for (const auto& routines : {lapack_factors(), lapack_values(), xla_calls()}) {
    const auto found =
        std::ranges::find(routines, name ? name->routine : target, &LapackRoutine::name);
    if (found != routines.end()) return &*found;
  }
  return nullptr;
}

LapackFunction function_for(const LapackRoutine& routine, DType dtype) {
  switch (dtype) {
    case f32: return routine.s;
    case f64: return routine.d;
    case c64: return routine.c;
    default: return routine.z;
  }
}

Status check(const CustomCall& call) {
  std::vector<const Shape*> operands;
  for (const Literal& each : call.operands()) operands.push_back(&each.shape());
  return hlo::check_lapack_call(call.instruction(), operands);
}

}  // namespace

CustomCallFunction find_lapack(std::string_view target) {
  const LapackRoutine* routine = find_routine(target);
  if (routine == nullptr) return nullptr;
  return [routine](CustomCall& call) -> StatusOr<Literal> {
    HEDDLE_RETURN_IF_ERROR(check(call));
    return function_for(*routine, call[0].shape().dtype())(call);
  };
}

}  // namespace heddle::interpreter::linalg
