// pad(x, value), padding=low_high_interior x ..: `interior` values between neighbours of x, then
// `low` before and `high` after.
// Negative low and high crop instead, after the interior values are in.
#include <algorithm>

#include "heddle/hlo/ops/rules.h"
#include "heddle/hlo/ops/strides.h"

namespace heddle::hlo {
namespace {

StatusOr<int64_t> padded_size(const InferArgs& in, int64_t d, const PadDimension& pad) {
  if (pad.interior < 0) {
    return in.error("interior padding of dimension ", d, " is ", pad.interior,
                    "; must be 0 or more");
  }
  int64_t size = in[0].dimension(d);
  int64_t between = 0;
  bool overflow = __builtin_mul_overflow(size > 0 ? size - 1 : 0, pad.interior, &between);
  overflow |= __builtin_add_overflow(size, between, &size);
  overflow |= __builtin_add_overflow(size, pad.low, &size);
  overflow |= __builtin_add_overflow(size, pad.high, &size);
  if (overflow) return in.error("the padded size of dimension ", d, " must fit 63 bits");
  if (size < 0) {
    return in.error("x is ", in[0], "; padding ", pad.low, "_", pad.high, "_", pad.interior,
                    " makes dimension ", d, " ", size, "; must be 0 or more");
  }
  return size;
}

StatusOr<Shape> infer(const InferArgs& in) {
  const std::vector<PadDimension>& padding = in.attrs<PadAttrs>().padding;
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  HEDDLE_RETURN_IF_ERROR(check_rank(in, 1, 0));
  HEDDLE_RETURN_IF_ERROR(check_dtype(in, 1, in[0].dtype(), "x"));
  HEDDLE_RETURN_IF_ERROR(
      check_length(in, "padding", padding.size(), in[0].rank(), "dimension of x"));
  std::vector<int64_t> sizes;
  sizes.reserve(padding.size());
  for (int64_t d = 0; d < in[0].rank(); ++d) {
    HEDDLE_ASSIGN_OR_RETURN(int64_t size, padded_size(in, d, padding[static_cast<size_t>(d)]));
    sizes.push_back(size);
  }
  return settle(in, resized(in[0], std::move(sizes)));
}

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

StatusOr<Literal> evaluate(EvalArgs& in) {
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

constexpr std::string_view kNames[] = {"x", "value"};

}  // namespace

const OpDef kPadDef = {
    .opcode = Opcode::kPad,
    .operand_names = kNames,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace heddle::hlo
