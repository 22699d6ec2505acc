// jax's own names, where ours have an underscore more or another word. `std` cannot be one in C++;
// it is std_dev.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/trace/collectives.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/nan_statistics.h"
#include "heddle/trace/numbers.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/quantiles.h"
#include "heddle/trace/shaping.h"
#include "heddle/trace/statistics.h"

namespace heddle {

// power
inline Tensor pow(Operand x, Operand y) { return power(x, y); }
// concat
inline Tensor concatenate(const std::vector<Tensor>& parts, base::Int axis = 0,
                          SourceLocation at = SourceLocation::here()) {
  return concat(parts, axis, at);
}
// flip
inline Tensor rev(Operand x, const AxisList& axes) { return flip(x, axes); }
// astype
inline Tensor convert_element_type(Operand x, DType dtype) {
  const trace_internal::PublicCall call("convert_element_type", x.at());
  return as_tensor(x).astype(dtype);
}
// is_nan
inline Tensor isnan(Operand x) { return is_nan(x); }
// is_inf
inline Tensor isinf(Operand x) { return is_inf(x); }
// is_finite
inline Tensor isfinite(Operand x) { return is_finite(x); }
// is_close
inline Tensor isclose(Operand x, Operand y, const Tolerance& within = {}) {
  return is_close(x, y, within);
}
// all_close
inline Tensor allclose(Operand x, Operand y, const Tolerance& within = {}) {
  return all_close(x, y, within);
}
// nan_sum
inline Tensor nansum(Operand x, const Reduction& over = {}) { return nan_sum(x, over); }
template <class Axis = AxisList, class Keep = bool>
Tensor nansum(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_sum(x, axis, keep_dims);
}
// nan_mean
inline Tensor nanmean(Operand x, const Reduction& over = {}) { return nan_mean(x, over); }
template <class Axis = AxisList, class Keep = bool>
Tensor nanmean(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_mean(x, axis, keep_dims);
}
// nan_prod
inline Tensor nanprod(Operand x, const Reduction& over = {}) { return nan_prod(x, over); }
template <class Axis = AxisList, class Keep = bool>
Tensor nanprod(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_prod(x, axis, keep_dims);
}
// nan_max
inline Tensor nanmax(Operand x, const Reduction& over = {}) { return nan_max(x, over); }
template <class Axis = AxisList, class Keep = bool>
Tensor nanmax(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_max(x, axis, keep_dims);
}
// nan_min
inline Tensor nanmin(Operand x, const Reduction& over = {}) { return nan_min(x, over); }
template <class Axis = AxisList, class Keep = bool>
Tensor nanmin(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_min(x, axis, keep_dims);
}
// nan_var
inline Tensor nanvar(Operand x, const Reduction& over = {}, base::Int ddof = 0) {
  return nan_var(x, over, ddof);
}
template <class Axis = AxisList, class Count = int64_t>
Tensor nanvar(Operand x, Axis axis, Count ddof = 0) {
  return nan_var(x, axis, ddof);
}
// nan_std
inline Tensor nanstd(Operand x, const Reduction& over = {}, base::Int ddof = 0) {
  return nan_std(x, over, ddof);
}
template <class Axis = AxisList, class Count = int64_t>
Tensor nanstd(Operand x, Axis axis, Count ddof = 0) {
  return nan_std(x, axis, ddof);
}
// nan_argmax
inline Tensor nanargmax(Operand x, base::Int axis) { return nan_argmax(x, axis); }
// nan_argmin
inline Tensor nanargmin(Operand x, base::Int axis) { return nan_argmin(x, axis); }
// nan_median
inline Tensor nanmedian(Operand x, std::optional<base::Int> axis = {}) {
  return nan_median(x, axis);
}
// nan_quantile
inline Tensor nanquantile(Operand x, const QuantileLevels& q, std::optional<base::Int> axis = {},
                          QuantileMethod between = QuantileMethod::kLinear) {
  return nan_quantile(x, q, axis, between);
}
// nan_percentile
inline Tensor nanpercentile(Operand x, const QuantileLevels& q, std::optional<base::Int> axis = {},
                            QuantileMethod between = QuantileMethod::kLinear) {
  return nan_percentile(x, q, axis, between);
}
// is_posinf
inline Tensor isposinf(Operand x) { return is_posinf(x); }
// is_neginf
inline Tensor isneginf(Operand x) { return is_neginf(x); }
// permute
inline Tensor ppermute(const Tensor& x, const MeshAxes& axes, const DevicePairs& pairs,
                       SourceLocation at = SourceLocation::here()) {
  return permute(x, axes, pairs, at);
}
// reduce_scatter
inline Tensor psum_scatter(const Tensor& x, const MeshAxes& axes,
                           const CollectiveOptions& options = {},
                           SourceLocation at = SourceLocation::here()) {
  return reduce_scatter(x, axes, options, at);
}

}  // namespace heddle
