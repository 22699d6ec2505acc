// scaled-dot(x, y, x_scale, y_scale): the dot of x times its scales and y times its scales. A scale
// has the rank of its operand, and each of its elements is for a block of elements: a dimension of
// the operand is a multiple of the scale's. A scalar is for all.
#include "heddle/hlo/blocks.h"
#include "heddle/hlo/ops/dot_like.h"
#include "heddle/hlo/ops/strides.h"

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

StatusOr<Shape> infer(const InferArgs& in) {
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

std::vector<double> numbers_of(const Literal& x) {
  std::vector<double> out(static_cast<size_t>(x.element_count()));
  load(x.shape().dtype(), x.bytes(), x.element_count(), out.data());
  return out;
}

// x times its scales, in f64.
Literal scaled(const Literal& x, const Literal& scale) {
  Literal out = Literal::from<double>(Shape(f64, x.shape().dimensions()), numbers_of(x));
  const std::vector<double> factors = numbers_of(scale);
  const Strides strides(scale.shape());
  const Shape& shape = x.shape();
  Dims at(static_cast<size_t>(shape.rank()));
  for (double& value : out.mutable_values<double>()) {
    int64_t block = 0;
    for (int64_t d = 0; d < scale.shape().rank(); ++d) {
      block += at[static_cast<size_t>(d)] / (shape.dimension(d) / scale.shape().dimension(d)) *
               strides[d];
    }
    value *= factors[static_cast<size_t>(block)];
    for (int64_t d = shape.rank(); d-- > 0;) {
      if (++at[static_cast<size_t>(d)] < shape.dimension(d)) break;
      at[static_cast<size_t>(d)] = 0;
    }
  }
  return out;
}

StatusOr<Literal> evaluate(EvalArgs& in) {
  return dot(scaled(in[0], in[2]), scaled(in[1], in[3]), in.attrs<DotAttrs>(), in.result(),
             in.caller);
}

constexpr std::string_view kNames[] = {"x", "y", "x_scale", "y_scale"};

}  // namespace

const OpDef kScaledDotDef = {
    .opcode = Opcode::kScaledDot,
    .operand_names = kNames,
    .infer = infer,
    .evaluate = evaluate,
};

}  // namespace heddle::hlo
