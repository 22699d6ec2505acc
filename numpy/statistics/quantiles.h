// Quantiles: the values below which given parts of the elements lie. Names are those of jax.numpy;
// negative axes count from the end, and without an axis it is over all elements.
//
//   quantile(x, 0.5, 1)           of each row
//   median(images, {1, 2})        of each image; {.axes = {1, 2}, .keep_dims = true} keeps the axes
//   quantile(x, {0.25, 0.75}, 1)  of each row two, along a new axis in front: [2, rows]
//   quantile(x, levels, 1)        the same, of a tensor of floats
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/trace/operand.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// One part, or a list of them, which gives the result an axis. Beside a list of one, g++ 12 ignores
// names: it takes quantile(x, {.axis = 1}) for {1}, and clang refuses it.
class QuantileLevels {
 public:
  QuantileLevels(double q) : values_{q} {}
  QuantileLevels(std::initializer_list<double> q) : values_(q), is_list_(true) {}
  QuantileLevels(std::vector<double> q) : values_(std::move(q)), is_list_(true) {}
  // Floats of rank 0 or 1. Those out of range give NaN.
  QuantileLevels(Tensor q) : tensor_(std::move(q)) {}

  // Without a tensor.
  [[nodiscard]] const std::vector<double>& values() const { return values_; }
  [[nodiscard]] bool is_list() const { return is_list_; }
  [[nodiscard]] const std::optional<Tensor>& tensor() const { return tensor_; }

 private:
  std::vector<double> values_;
  bool is_list_ = false;
  std::optional<Tensor> tensor_;
};

// What stands for the two elements next to a position: something between them in proportion, the
// lower or the higher one, the nearer one (the lower in the middle), or their mean.
enum class QuantileMethod : uint8_t { kLinear, kLower, kHigher, kNearest, kMidpoint };

// The value below which the part q (0 .. 1) of the elements along the axes lies: that at position
// q (n - 1) of the sorted ones. NaN where any is NaN. Of floats.
Tensor quantile(Operand x, const QuantileLevels& q, const Reduction& over = {},
                QuantileMethod between = QuantileMethod::kLinear);
Tensor median(Operand x, const Reduction& over = {});  // quantile 0.5
// quantile of the numbers, without NaN; NaN if there are none.
Tensor nan_quantile(Operand x, const QuantileLevels& q, const Reduction& over = {},
                    QuantileMethod between = QuantileMethod::kLinear);
Tensor nan_median(Operand x, const Reduction& over = {});  // nan_quantile 0.5

// quantile and nan_quantile of q / 100, for q in 0 .. 100.
Tensor percentile(Operand x, const QuantileLevels& q, const Reduction& over = {},
                  QuantileMethod between = QuantileMethod::kLinear);
// nan_quantile of q / 100, for q in 0 .. 100.
Tensor nan_percentile(Operand x, const QuantileLevels& q, const Reduction& over = {},
                      QuantileMethod between = QuantileMethod::kLinear);

// quantile over one axis, or a list of them: quantile(x, 0.5, 0).
template <class Axis = trace_internal::BracedAxes>
Tensor quantile(Operand x, const QuantileLevels& q, Axis axis,
                QuantileMethod between = QuantileMethod::kLinear) {
  return quantile(x, q, trace_internal::over_axis(axis), between);
}
// nan_quantile over one axis, or a list of them: nan_quantile(x, 0.5, 0).
template <class Axis = trace_internal::BracedAxes>
Tensor nan_quantile(Operand x, const QuantileLevels& q, Axis axis,
                    QuantileMethod between = QuantileMethod::kLinear) {
  return nan_quantile(x, q, trace_internal::over_axis(axis), between);
}
// percentile over one axis, or a list of them: percentile(x, 50, 0).
template <class Axis = trace_internal::BracedAxes>
Tensor percentile(Operand x, const QuantileLevels& q, Axis axis,
                  QuantileMethod between = QuantileMethod::kLinear) {
  return percentile(x, q, trace_internal::over_axis(axis), between);
}
// nan_percentile over one axis, or a list of them: nan_percentile(x, 50, 0).
template <class Axis = trace_internal::BracedAxes>
Tensor nan_percentile(Operand x, const QuantileLevels& q, Axis axis,
                      QuantileMethod between = QuantileMethod::kLinear) {
  return nan_percentile(x, q, trace_internal::over_axis(axis), between);
}
// median over one axis, or a list of them: median(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor median(Operand x, Axis axis, Keep keep_dims = false) {
  return median(x, trace_internal::over_axis(axis, keep_dims));
}
// nan_median over one axis, or a list of them: nan_median(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nan_median(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_median(x, trace_internal::over_axis(axis, keep_dims));
}

}  // namespace heddle
