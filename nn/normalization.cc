#include "heddle/nn/normalization.h"

#include "heddle/nn/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"

namespace heddle::nn {
namespace {

using nn_internal::floating;
using nn_internal::formula;
using nn_internal::wide_of;
using trace_internal::Located;
using trace_internal::PublicCall;

Located standardized(const Located& x, const std::vector<int64_t>& axes, double epsilon) {
  Located centred = x - mean(x, {.axes = axes, .keep_dims = true});
  Located variance = mean(square(centred), {.axes = axes, .keep_dims = true});
  return centred * rsqrt(variance + epsilon);
}

// A scale or bias, where there is one: it must broadcast to x and have its dtype.
void check_factor(std::string_view op, std::string_view name, const Tensor& factor,
                  const Located& x) {
  const Shape& shape = x.tensor().shape();
  bool fits = factor.dtype() == x.dtype() && factor.rank() <= x.tensor().rank() &&
              broadcast_shapes(factor.shape(), shape, x.at()) == shape.dimensions();
  if (fits) return;
  throw Error(
      trace_internal::invalid_argument(op, ": ", name, " is ", factor.shape(), "; it must be ",
                                       x.dtype(), " and broadcast to x, ", shape),
      x.at());
}

Tensor normalized(std::string_view op, const Operand& operand, const Norm& norm, bool centre) {
  const PublicCall call(op, operand.at());
  Located x = floating(op, "x", operand);
  trace_internal::axes_of(op, x.tensor().shape(), norm.axes, x.at());
  if (norm.scale.is_valid()) check_factor(op, "scale", norm.scale, x);
  if (norm.bias.is_valid()) check_factor(op, "bias", norm.bias, x);
  return formula(op, x.at(), [&] {
    Located wide = wide_of(x);
    Located y = centre ? standardized(wide, norm.axes, norm.epsilon)
                       : wide * rsqrt(mean(square(wide), {.axes = norm.axes, .keep_dims = true}) +
                                      norm.epsilon);
    auto factor = [&](const Tensor& t) { return x.with(t).astype(wide.dtype()); };
    if (norm.scale.is_valid()) y = y * factor(norm.scale);
    if (norm.bias.is_valid()) y = y + factor(norm.bias);
    return y.astype(x.dtype());
  });
}

}  // namespace

Tensor standardize(Operand x, const Standardization& over) {
  const PublicCall call("nn::standardize", x.at());
  Located value = floating("nn::standardize", "x", x);
  trace_internal::axes_of("nn::standardize", value.tensor().shape(), over.axes, x.at());
  return formula("nn::standardize", x.at(), [&] {
    return standardized(wide_of(value), over.axes, over.epsilon).astype(value.dtype());
  });
}

Tensor layer_norm(Operand x, const Norm& norm) {
  return normalized("nn::layer_norm", x, norm, true);
}
Tensor rms_norm(Operand x, const Norm& norm) { return normalized("nn::rms_norm", x, norm, false); }

}  // namespace heddle::nn
