// pad(x, value), padding=low_high_interior x ..: `interior` values between neighbours of x, then
// `low` before and `high` after.
// Negative low and high crop instead, after the interior values are in.
#include "heddle/hlo/ops/rules.h"

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
    return in.error("x is ", in[0], "; padding of low ", pad.low, ", high ", pad.high,
                    " and interior ", pad.interior, " makes the size of dimension ", d, " ", size,
                    "; must be 0 or more: a negative low or high takes that many away");
  }
  return size;
}

StatusOr<Shape> infer_pad(const InferArgs& in) {
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

constexpr std::string_view kPadNames[] = {"x", "value"};

}  // namespace

const OpDef kPadDef = {Opcode::kPad, kPadNames, {Work::kNone, Rows::kByRule, kJoins}, infer_pad};

}  // namespace heddle::hlo
