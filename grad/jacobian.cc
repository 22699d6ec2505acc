#include "heddle/grad/jacobian.h"

#include "heddle/numpy/matrices.h"
#include "heddle/trace/devices/on_device_of.h"
#include "heddle/trace/ops/shaping.h"
#include "heddle/trace/public_call.h"

namespace heddle::grad_internal {
namespace {

Dimensions joined(Dimensions a, const Dimensions& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

Tensor basis_of(std::string_view name, const Tensor& x) {
  if (!is_floating(x.dtype()) && !is_complex(x.dtype()))
    trace_internal::refuse(name, " is ", x.shape(), ", which has no derivative; cast it to floats");
  if (is_complex(x.dtype()))
    trace_internal::refuse(name, " is ", x.shape(),
                           "; must be real: take the Jacobian of its real and of its imaginary "
                           "part, as functions of real numbers");
  const int64_t n = x.shape().element_count();
  const trace_internal::OnDeviceOf device(x);
  return reshape(eye(n, n, 0, x.dtype()), joined({n}, x.shape().dimensions()));
}

Tensor as_jacobian(const Tensor& rows, const Tensor& y, const Tensor& x) {
  return reshape(rows, joined(y.shape().dimensions(), x.shape().dimensions()));
}

Tensor from_columns(const Tensor& columns, const Tensor& y, const Tensor& x) {
  const int64_t m = y.shape().element_count(), n = x.shape().element_count();
  return as_jacobian(swapaxes(reshape(columns, {n, m}), 0, 1), y, x);
}

}  // namespace heddle::grad_internal
