#include "heddle/interpreter/custom_call.h"

#include <exception>

#include "heddle/interpreter/internal/custom_calls.h"
#include "heddle/interpreter/ops/device/joint_collectives.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// User code may throw; an exception must not pass through the evaluator.
StatusOr<Literal> guarded(const CustomCallFunction& function, CustomCall& call) {
  try {
    return function(call);
  } catch (const std::bad_alloc&) {
    throw;  // of the run as a whole
  } catch (const std::exception& error) {
    return base::make_error(StatusCode::kInternal, "custom-call: ", call.target(), ": threw ",
                            error.what());
  } catch (...) {
    return base::make_error(StatusCode::kInternal, "custom-call: ", call.target(),
                            ": threw what is no std::exception");
  }
}

StatusOr<Literal> evaluate_custom_call(EvalArgs& in) {
  CustomCall call(in);
  if (seat_of(in) != nullptr && changes_view(call.target())) return change_view(in);
  const std::shared_ptr<const CustomCallFunction> function = find_custom_call(call.target());
  if (function == nullptr) {
    return base::unimplemented(
        "custom-call: target ", call.target(),
        " has no function; give it one with interpreter::register_custom_call(\"", call.target(),
        "\", ..) of heddle/interpreter/custom_call.h");
  }
  HEDDLE_ASSIGN_OR_RETURN(Literal result, guarded(*function, call));
  if (same_type(result.shape(), in.result())) return result;
  return call.error("returned ", result.shape(), "; must return ", in.result(),
                    ", as the program declares");
}

}  // namespace

const Evaluation kCustomCallEvaluation = {.evaluate = evaluate_custom_call};

}  // namespace heddle::interpreter
