// custom-call(x..): a function known by its name, outside of HLO. See hlo/custom_call.h for how
// functions are given.
#include "heddle/hlo/custom_call.h"

#include <exception>

#include "heddle/hlo/internal/custom_calls.h"
#include "heddle/hlo/ops/joint.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

StatusOr<Shape> infer(const InferArgs& in) {
  const auto& attrs = in.attrs<CustomCallAttrs>();
  if (attrs.custom_call_target.empty())
    return in.error("has no custom_call_target; must name the function to call");
  if (attrs.constrain_layout) {
    HEDDLE_RETURN_IF_ERROR(check_length(in, "operand_layout_constraints",
                                        attrs.operand_layout_constraints.size(),
                                        static_cast<int64_t>(in.size()), "operand"));
  }
  return *in.declared();
}

// User code may throw; an exception must not pass through the evaluator.
StatusOr<Literal> guarded(const CustomCallFunction& function, CustomCall& call) {
  try {
    return function(call);
  } catch (const std::bad_alloc&) {
    throw;  // of the run as a whole
  } catch (const std::exception& error) {
    return base::make_error(StatusCode::kInternal, "custom-call: ", call.target(), ": threw ",
                            error.what());
  }
}

StatusOr<Literal> evaluate(EvalArgs& in) {
  CustomCall call(in);
  if (this_seat() != nullptr && changes_view(call.target())) return change_view(in);
  const std::shared_ptr<const CustomCallFunction> function = find_custom_call(call.target());
  if (function == nullptr) {
    return base::unimplemented("custom-call: target ", call.target(),
                               " has no function; give it one with hlo::register_custom_call(\"",
                               call.target(), "\", ..) of heddle/hlo/custom_call.h");
  }
  HEDDLE_ASSIGN_OR_RETURN(Literal result, guarded(*function, call));
  if (same_type(result.shape(), in.result())) return result;
  return call.error("returned ", result.shape(), "; must return ", in.result(),
                    ", as the program declares");
}

}  // namespace

const OpDef kCustomCallDef = {
    .opcode = Opcode::kCustomCall, .operand_names = {}, .infer = infer, .evaluate = evaluate};

}  // namespace heddle::hlo
