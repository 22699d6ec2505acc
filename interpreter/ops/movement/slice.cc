#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

StatusOr<Literal> evaluate_slice(EvalArgs& in) {
  const Shape& result = in.result();
  const std::vector<SliceDimension>& ranges = in.attrs<SliceAttrs>().slice;
  if (same_dimensions(result, in[0].shape())) return std::move(in.operands[0]).reshaped(result);
  const int64_t width = storage_bytes(result.dtype());
  Strides from(in[0].shape());
  int64_t start = 0;
  for (int64_t d = 0; d < result.rank(); ++d) {
    const SliceDimension& range = ranges[static_cast<size_t>(d)];
    start += range.start * from[d];
    // the stride may be any number then
    from[d] = result.dimension(d) > 1 ? from[d] * range.stride : 0;
  }
  Literal out = Literal::uninitialised(result);
  copy_strided(out.mutable_bytes(), Strides(result), in[0].bytes() + start * width, from,
               result.dimensions(), width);
  return out;
}

}  // namespace

const Evaluation kSliceEvaluation = {.evaluate = evaluate_slice};

}  // namespace heddle::interpreter
