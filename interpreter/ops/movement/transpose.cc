#include <algorithm>

#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_transpose(EvalArgs& in) {
  const Dims& dims = in.attrs<DimensionsAttrs>().dimensions;
  const Shape& result = in.result();
  if (std::ranges::is_sorted(dims)) return std::move(in.operands[0]).reshaped(result);
  const Strides of_x(in[0].shape());
  int64_t from[Shape::kMaxRank];
  for (size_t d = 0; d < dims.size(); ++d) from[d] = of_x[dims[d]];
  Literal out = Literal::uninitialised(result);
  copy_strided(out.mutable_bytes(), Strides(result), in[0].bytes(), from, result.dimensions(),
               storage_bytes(result.dtype()));
  return out;
}

}  // namespace

const Evaluation kTransposeEvaluation = {.evaluate = evaluate_transpose};

}  // namespace heddle::interpreter
