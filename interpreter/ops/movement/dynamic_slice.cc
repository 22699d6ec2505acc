#include <algorithm>

#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/ops/movement/indices.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// Offset in elements of the block in x, its starts (the operands from `first` on) clamped.
int64_t clamped_offset(const EvalArgs& in, size_t first, const Shape& block,
                       const Strides& strides) {
  const Shape& x = in[0].shape();
  const bool is_vector = in.size() == first + 1 && in[first].shape().rank() == 1;
  int64_t offset = 0;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const int64_t start =
        is_vector ? index_at(in[first], d) : index_at(in[first + static_cast<size_t>(d)], 0);
    offset += std::clamp<int64_t>(start, 0, x.dimension(d) - block.dimension(d)) * strides[d];
  }
  return offset;
}

StatusOr<Literal> evaluate_dynamic_slice(EvalArgs& in) {
  const Shape& result = in.result();
  if (same_dimensions(result, in[0].shape())) return std::move(in.operands[0]).reshaped(result);
  const int64_t width = storage_bytes(result.dtype());
  const Strides from(in[0].shape());
  const int64_t offset = clamped_offset(in, 1, result, from);
  Literal out = Literal::uninitialised(result);
  copy_strided(out.mutable_bytes(), Strides(result), in[0].bytes() + offset * width, from,
               result.dimensions(), width);
  return out;
}

// In place where nobody else holds x.
StatusOr<Literal> evaluate_update(EvalArgs& in) {
  const Shape& block = in[1].shape();
  if (same_dimensions(block, in[0].shape())) return std::move(in.operands[1]).reshaped(in.result());
  const int64_t width = storage_bytes(block.dtype());
  const Strides to(in[0].shape());
  const int64_t offset = clamped_offset(in, 2, block, to);
  Literal out = std::move(in.operands[0]);
  if (block.element_count() == 0) return out;
  copy_strided(out.mutable_bytes() + offset * width, to, in[1].bytes(), Strides(block),
               block.dimensions(), width);
  return out;
}

}  // namespace

const Evaluation kDynamicSliceEvaluation = {.evaluate = evaluate_dynamic_slice};
const Evaluation kDynamicUpdateSliceEvaluation = {.evaluate = evaluate_update};

}  // namespace heddle::interpreter
