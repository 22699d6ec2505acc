#include <algorithm>

#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_broadcast(EvalArgs& in) {
  const Dims& dims = in.attrs<DimensionsAttrs>().dimensions;
  const Shape& result = in.result();
  if (in[0].element_count() == result.element_count() && std::ranges::is_sorted(dims)) {
    return std::move(in.operands[0]).reshaped(result);  // only dimensions of size 1 are new
  }
  const Strides of_x(in[0].shape());
  int64_t from[Shape::kMaxRank];
  std::fill_n(from, result.rank(), 0);
  for (size_t d = 0; d < dims.size(); ++d) from[dims[d]] = of_x[static_cast<int64_t>(d)];
  Literal out = Literal::uninitialised(result);
  copy_strided(out.mutable_bytes(), Strides(result), in[0].bytes(), from, result.dimensions(),
               storage_bytes(result.dtype()));
  return out;
}

}  // namespace

const Evaluation kBroadcastEvaluation = {.evaluate = evaluate_broadcast};

}  // namespace heddle::interpreter
