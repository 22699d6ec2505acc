// The rules see types without bounds: the evaluator holds values at the sizes that they have, and
// rewrites the instruction to them (interpreter/internal/sizes.h).
#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/ops/movement/indices.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_get(EvalArgs& in) {
  const int64_t dim = in.attrs<DimensionsAttrs>().dimensions[0];
  return Literal::from<int32_t>(in.result(), {static_cast<int32_t>(in[0].shape().dimension(dim))});
}

// Dimension d of the result has the size that operand i gives.
Status check_full(const EvalArgs& in, size_t i, int64_t d) {
  const int64_t size = index_at(in[i], 0);
  if (size == in.result().dimension(d)) return {};
  return base::unimplemented(
      to_string(in.instruction.opcode), ": dimension ", d, " of the result ", in.result(),
      " is given the size ", size,
      ", and by itself the rule gives arrays that fill their bounds; evaluate the module");
}

StatusOr<Literal> evaluate_set(EvalArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_full(in, 1, in.attrs<DimensionsAttrs>().dimensions[0]));
  return std::move(in.operands[0]).reshaped(in.result());
}

StatusOr<Literal> evaluate_dynamic_reshape(EvalArgs& in) {
  for (int64_t d = 0; d < in.result().rank(); ++d)
    HEDDLE_RETURN_IF_ERROR(check_full(in, static_cast<size_t>(d) + 1, d));
  return std::move(in.operands[0]).reshaped(in.result());
}

}  // namespace

const Evaluation kGetDimensionSizeEvaluation = {.evaluate = evaluate_get};
const Evaluation kSetDimensionSizeEvaluation = {.evaluate = evaluate_set};
const Evaluation kDynamicReshapeEvaluation = {.evaluate = evaluate_dynamic_reshape};

}  // namespace heddle::interpreter
