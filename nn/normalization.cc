#include "heddle/nn/normalization.h"

#include "heddle/nn/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::nn {
namespace {

Expr standardized(const Expr& x, const std::vector<int64_t>& axes, double epsilon) {
  Expr centred = x - mean(x, {.axes = axes, .keep_dims = true});
  Expr variance = mean(square(centred), {.axes = axes, .keep_dims = true});
  return centred * rsqrt(variance + epsilon);
}

// Checks a scale or bias, if there is one: it must broadcast to x and have its dtype.
void check_factor(std::string_view name, const Tensor& factor, const Expr& x) {
  const Shape& shape = x.tensor().shape();
  const bool fits =
      factor.dtype() == x.dtype() && common_dimensions(factor.shape(), shape) == shape.dimensions();
  if (fits) return;
  trace_internal::refuse(
      name, " is ", factor.shape(), "; it must be ", x.dtype(), " and broadcast to x, ", shape,
      factor.dtype() == x.dtype() ? ", such as one of the size of its last axis" : "");
}

Tensor normalized(std::string_view op, const Operand& operand, const Norm& norm, bool centre) {
  const PublicCall call(op, operand.at());
  Expr x = floating("x", operand);
  trace_internal::axes_of(x.tensor().shape(), norm.axes);
  if (norm.scale.is_valid()) check_factor("scale", norm.scale, x);
  if (norm.bias.is_valid()) check_factor("bias", norm.bias, x);
  const bool has_scale = norm.scale.is_valid(), has_bias = norm.bias.is_valid();
  const auto of = [&](Values in) {
    Expr wide = wide_of(in[0]);
    Expr y = centre ? standardized(wide, norm.axes, norm.epsilon)
                    : wide * rsqrt(mean(square(wide), {.axes = norm.axes, .keep_dims = true}) +
                                   norm.epsilon);
    if (has_scale) y = y * in[1].astype(wide.dtype());
    if (has_bias) y = y + in.back().astype(wide.dtype());
    return y.astype(x.dtype());
  };
  const KnownOptions options(norm.axes, FixedNumber{norm.epsilon}, has_scale, has_bias);
  std::vector<Expr> operands{x};
  if (has_scale) operands.emplace_back(norm.scale);
  if (has_bias) operands.emplace_back(norm.bias);
  return formula(op, options, operands, of);
}

}  // namespace

Tensor standardize(Operand x, const Standardization& over) {
  const PublicCall call("nn::standardize", x.at());
  Expr value = floating("x", x);
  trace_internal::axes_of(value.tensor().shape(), over.axes);
  const KnownOptions options(over.axes, FixedNumber{over.epsilon});
  return formula("nn::standardize", options, {value}, [&](Values in) {
    return standardized(wide_of(in[0]), over.axes, over.epsilon).astype(value.dtype());
  });
}

Tensor layer_norm(Operand x, const Norm& norm) {
  return normalized("nn::layer_norm", x, norm, true);
}
Tensor rms_norm(Operand x, const Norm& norm) { return normalized("nn::rms_norm", x, norm, false); }

}  // namespace heddle::nn
