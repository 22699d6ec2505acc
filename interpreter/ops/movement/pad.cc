#include <algorithm>

#include "heddle/hlo/literal/strides.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// The indices i of x that stay in the result: those with 0 <= low + i * step < size. They are
// [first, first + count).
struct Kept {
  int64_t first;
  int64_t count;
};

Kept kept(int64_t size_of_x, int64_t size, const PadDimension& pad) {
  if (size_of_x == 0) return {0, 0};
  const int64_t step = size_of_x > 1 ? pad.interior + 1 : 1;
  const int64_t spread = (size_of_x - 1) * step + 1;  // fits, or the shape rule had refused it
  if (pad.low <= -spread || pad.low >= size) return {0, 0};
  const int64_t first = pad.low >= 0 ? 0 : (-pad.low - 1) / step + 1;
  const int64_t end = std::min(size_of_x, (size - pad.low - 1) / step + 1);
  return {first, std::max<int64_t>(end - first, 0)};
}

StatusOr<Literal> evaluate_pad(EvalArgs& in) {
  const std::vector<PadDimension>& padding = in.attrs<PadAttrs>().padding;
  const Shape& result = in.result();
  const Shape& x = in[0].shape();
  const int64_t width = storage_bytes(result.dtype());
  Strides to(result);
  const Strides from(x);
  Dims counts;
  int64_t to_start = 0;
  int64_t from_start = 0;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const PadDimension& pad = padding[static_cast<size_t>(d)];
    const auto [first, count] = kept(x.dimension(d), result.dimension(d), pad);
    counts.push_back(count);
    if (count == 0) continue;
    const int64_t step = x.dimension(d) > 1 ? pad.interior + 1 : 1;
    from_start += first * from[d];
    to_start += (pad.low + first * step) * to[d];
    to[d] *= count > 1 ? step : 0;
  }
  Literal out = Literal::uninitialised(result);
  fill(out.mutable_bytes(), result.element_count(), in[1].bytes(), width);
  if (std::ranges::find(counts, 0) != counts.end()) return out;
  copy_strided(out.mutable_bytes() + to_start * width, to, in[0].bytes() + from_start * width, from,
               counts, width);
  return out;
}

}  // namespace

const Evaluation kPadEvaluation = {.evaluate = evaluate_pad};

}  // namespace heddle::interpreter
