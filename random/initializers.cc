#include "heddle/random/initializers.h"

#include <cmath>

#include "heddle/numpy/float_limits.h"
#include "heddle/random/internal/threefry.h"
#include "heddle/random/multivariate.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/public_call.h"

namespace heddle::random {
namespace {

using trace_internal::axes_of;
using trace_internal::axis_of;

// The deviation of a normal number truncated at two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

double count_of(const Dimensions& shape, const std::vector<int64_t>& axes) {
  double count = 1;
  for (int64_t axis : axes) count *= static_cast<double>(shape[static_cast<size_t>(axis)]);
  return count;
}

// The number of inputs or of outputs, each times the window.
double fan_of(const Shape& shape, const VarianceScaling& how) {
  const Dimensions& sizes = shape.dimensions();
  auto count = [&](const std::vector<int64_t>& axes) {
    return count_of(sizes, axes.empty() ? axes : axes_of(shape, axes));
  };
  double all = 1;
  for (int64_t size : sizes) all *= static_cast<double>(size);
  const double in = count(how.in_axes), out = count(how.out_axes);
  const double window = all / in / out / count(how.batch_axes);
  switch (how.fan) {
    case Fan::kIn: return in * window;
    case Fan::kOut: return out * window;
    case Fan::kAverage: return (in * window + out * window) / 2;
    case Fan::kGeometric: return std::sqrt(in * window * out * window);
  }
  return 0;
}

Tensor with(std::string_view op, const Operand& key, const Dimensions& shape, DType dtype,
            double scale, Fan fan, WeightDistribution distribution) {
  const PublicCall call(op, key.at());
  if (shape.size() < 2)
    trace_internal::refuse("shape is [", base::join(shape, ","),
                           "]; it must have rank 2 or more, its last axes inputs and outputs");
  return one_program(op, [&] {
    return variance_scaling(key, shape, {.scale = scale, .fan = fan, .distribution = distribution},
                            dtype);
  });
}

}  // namespace

Tensor variance_scaling(Operand key, const base::Ints& shape, const VarianceScaling& how,
                        DType dtype) {
  const PublicCall call("random::variance_scaling", key.at());
  trace_internal::require_ieee_float("dtype", dtype);
  const double fan = fan_of(Shape(dtype, shape), how);
  return one_program("random::variance_scaling", [&] {
    if (Shape(dtype, shape).element_count() == 0) return zeros(shape, dtype);
    const Expr variance(full({}, how.scale / fan, dtype));
    auto times = [&](const Tensor& sample, const Expr& deviation) {
      return (Expr(sample) * deviation).tensor();
    };
    switch (how.distribution) {
      case WeightDistribution::kTruncatedNormal:
        return times(truncated_normal(key, -2.0, 2.0, shape, dtype),
                     sqrt(variance) / kTruncatedDeviation);
      case WeightDistribution::kNormal: return times(normal(key, shape, dtype), sqrt(variance));
      case WeightDistribution::kUniform:
        return times(uniform(key, shape, dtype, -1.0, 1.0), sqrt(3 * variance));
    }
    return Tensor();
  });
}

Tensor glorot_uniform(Operand key, const base::Ints& shape, DType dtype) {
  return with("random::glorot_uniform", key, shape, dtype, 1, Fan::kAverage,
              WeightDistribution::kUniform);
}

Tensor glorot_normal(Operand key, const base::Ints& shape, DType dtype) {
  return with("random::glorot_normal", key, shape, dtype, 1, Fan::kAverage,
              WeightDistribution::kTruncatedNormal);
}

Tensor he_uniform(Operand key, const base::Ints& shape, DType dtype) {
  return with("random::he_uniform", key, shape, dtype, 2, Fan::kIn, WeightDistribution::kUniform);
}

Tensor he_normal(Operand key, const base::Ints& shape, DType dtype) {
  return with("random::he_normal", key, shape, dtype, 2, Fan::kIn,
              WeightDistribution::kTruncatedNormal);
}

Tensor lecun_uniform(Operand key, const base::Ints& shape, DType dtype) {
  return with("random::lecun_uniform", key, shape, dtype, 1, Fan::kIn,
              WeightDistribution::kUniform);
}

Tensor lecun_normal(Operand key, const base::Ints& shape, DType dtype) {
  return with("random::lecun_normal", key, shape, dtype, 1, Fan::kIn,
              WeightDistribution::kTruncatedNormal);
}

Tensor orthogonal_weights(Operand key, const base::Ints& shape, double scale, base::Int axis,
                          DType dtype) {
  const PublicCall call("random::orthogonal_weights", key.at());
  const Shape whole(dtype, shape);
  if (shape.size() < 2)
    trace_internal::refuse("shape is of rank ", shape.size(), "; it must have rank 2 or more");
  const int64_t along = axis_of(whole, axis);
  return one_program("random::orthogonal_weights", [&] {
    if (whole.element_count() == 0) return zeros(shape, dtype);
    const int64_t columns = shape[static_cast<size_t>(along)];
    const Tensor q = orthogonal(key, whole.element_count() / columns, {}, dtype, columns);
    Dimensions apart = shape;
    apart.erase(apart.begin() + along);
    apart.push_back(columns);
    const Tensor moved = moveaxis(reshape(q, apart), -1, along);
    return multiply(moved, scale);
  });
}

}  // namespace heddle::random
