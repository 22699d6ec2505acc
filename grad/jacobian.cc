#include "heddle/grad/jacobian.h"

#include "heddle/numpy/matrices.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"

namespace heddle::grad_internal {
namespace {

Dimensions both(Dimensions a, const Dimensions& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

[[noreturn]] void throw_no_derivative(std::string_view name, const Tensor& x) {
  trace_internal::refuse(name, " is ", x.shape(), ", which has no derivative; cast it to floats");
}

// One tensor of x's type for each element of it, along a new first axis: 1 there, else 0.
Tensor basis_of(std::string_view name, const Tensor& x) {
  if (!has_tangent(x)) throw_no_derivative(name, x);
  if (is_complex(x.dtype()))
    trace_internal::refuse(name, " is ", x.shape(),
                           "; must be real: take the Jacobian of its real and of its imaginary "
                           "part, as functions of real numbers");
  const int64_t n = x.shape().element_count();
  const trace_internal::OnDeviceOf device(x);
  return reshape(eye(n, n, 0, x.dtype()), both({n}, x.shape().dimensions()));
}

Tensor rows_of(const Linear& linear, const Tensor& y, const Tensor& x) {
  if (!has_tangent(x)) throw_no_derivative("x", x);
  return linear.pull_each(basis_of("the result", y));
}

Tensor columns_of(const Linear& linear, const Tensor& y, const Tensor& x) {
  const Tensor columns = linear.push_each(basis_of("x", x));
  const int64_t m = y.shape().element_count(), n = x.shape().element_count();
  return swapaxes(reshape(columns, {n, m}), 0, 1);
}

}  // namespace

Tensor jacobian(const FlatFunction& fn, const Point& point, By by) {
  const auto [value, linear] = linearize(fn, point);
  const Tensor& x = point.leaves[0];
  const Tensor& y = value.results[0];
  const Tensor rows = by == By::kRows ? rows_of(linear, y, x) : columns_of(linear, y, x);
  return reshape(rows, both(y.shape().dimensions(), x.shape().dimensions()));
}

}  // namespace heddle::grad_internal
