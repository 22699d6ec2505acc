#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// Walks x from its last element backwards along each flipped dimension.
StatusOr<Literal> evaluate_reverse(EvalArgs& in) {
  const Shape& result = in.result();
  Literal out = Literal::uninitialised(result);
  if (result.element_count() == 0) return out;
  const int64_t width = storage_bytes(result.dtype());
  Strides from(in[0].shape());
  const std::byte* start = in[0].bytes();
  for (int64_t d : in.attrs<DimensionsAttrs>().dimensions) {
    start += (result.dimension(d) - 1) * from[d] * width;
    from[d] = -from[d];
  }
  copy_strided(out.mutable_bytes(), Strides(result), start, from, result.dimensions(), width);
  return out;
}

}  // namespace

const Evaluation kReverseEvaluation = {.evaluate = evaluate_reverse};

}  // namespace heddle::interpreter
