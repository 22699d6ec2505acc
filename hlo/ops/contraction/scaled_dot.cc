// scaled-dot(x, y, x_scale, y_scale): the dot of x times its scales and y times its scales. A scale
// has the rank of its operand, and each of its elements is for a block of elements: a dimension of
// the operand is a multiple of the scale's. A scalar is for all.
#include "heddle/hlo/ops/contraction/dot_like.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

Status check_scale(const InferArgs& in, size_t i) {
  const Shape& x = in[i - 2];
  const Shape& scale = in[i];
  bool fits = scale.rank() == 0 || scale.rank() == x.rank();
  for (int64_t d = 0; fits && d < scale.rank(); ++d) {
    const int64_t blocks = scale.dimension(d);
    fits = blocks == x.dimension(d) || (blocks > 0 && x.dimension(d) % blocks == 0);
  }
  const bool real = !is_complex(scale.dtype()) && !is_complex(x.dtype());
  if (fits && real) return {};
  return in.error(operand_name(in, i), " is ", scale,
                  "; must be real, and its dimensions divide those of ", operand_name(in, i - 2),
                  " ", x);
}

StatusOr<Shape> infer_scaled_dot(const InferArgs& in) {
  const auto& attrs = in.attrs<DotAttrs>();
  for (size_t i = 0; i < in.size(); ++i) HEDDLE_RETURN_IF_ERROR(check_sized(in, i));
  HEDDLE_RETURN_IF_ERROR(
      check_paired_dims(in, "batch", attrs.lhs_batch_dims, attrs.rhs_batch_dims));
  HEDDLE_RETURN_IF_ERROR(
      check_paired_dims(in, "contracting", attrs.lhs_contracting_dims, attrs.rhs_contracting_dims));
  HEDDLE_RETURN_IF_ERROR(check_scale(in, 2));
  HEDDLE_RETURN_IF_ERROR(check_scale(in, 3));
  return infer_dot(in, in[0], in[1], attrs);
}

constexpr std::string_view kScaledDotNames[] = {"x", "y", "x_scale", "y_scale"};

}  // namespace

const OpDef kScaledDotDef = {Opcode::kScaledDot, kScaledDotNames, kOpaque, infer_scaled_dot};

}  // namespace heddle::hlo
