// jax's own names, where Heddle's have another underscore or another word. C++ cannot have the name
// `std`; it is std_dev.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/base/int.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/statistics/nan_statistics.h"
#include "heddle/numpy/statistics/quantiles.h"
#include "heddle/numpy/statistics/statistics.h"
#include "heddle/trace/ops/device/collectives.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"

namespace heddle {

// power
inline Tensor pow(Operand x, Operand y) {
  const trace_internal::PublicCall call("pow", x.at());
  return power(x, y);
}
// concat
inline Tensor concatenate(const std::vector<Tensor>& parts, base::Int axis = 0,
                          SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("concatenate", at);
  return concat(parts, axis, at);
}
template <std::same_as<Tensor> First, class... More>
Tensor concatenate(const First&, const More&...) {
  static_assert(!sizeof(First), "the parts are one list: write concatenate({x, y}, axis)");
  return {};
}
// flip
inline Tensor rev(Operand x, const AxisList& axes) {
  const trace_internal::PublicCall call("rev", x.at());
  return flip(x, axes);
}
// astype
inline Tensor convert_element_type(Operand x, DType dtype) {
  const trace_internal::PublicCall call("convert_element_type", x.at());
  return as_tensor(x).astype(dtype);
}
// is_nan
inline Tensor isnan(Operand x) {
  const trace_internal::PublicCall call("isnan", x.at());
  return is_nan(x);
}
// is_inf
inline Tensor isinf(Operand x) {
  const trace_internal::PublicCall call("isinf", x.at());
  return is_inf(x);
}
// is_finite
inline Tensor isfinite(Operand x) {
  const trace_internal::PublicCall call("isfinite", x.at());
  return is_finite(x);
}
// is_close
inline Tensor isclose(Operand x, Operand y, const Tolerance& within = {}) {
  const trace_internal::PublicCall call("isclose", x.at());
  return is_close(x, y, within);
}
// all_close
inline Tensor allclose(Operand x, Operand y, const Tolerance& within = {}) {
  const trace_internal::PublicCall call("allclose", x.at());
  return all_close(x, y, within);
}
// nan_sum
inline Tensor nansum(Operand x, const Reduction& over = {}) {
  const trace_internal::PublicCall call("nansum", x.at());
  return nan_sum(x, over);
}
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nansum(Operand x, Axis axis, Keep keep_dims = false) {
  const trace_internal::PublicCall call("nansum", x.at());
  return nan_sum(x, axis, keep_dims);
}
// nan_mean
inline Tensor nanmean(Operand x, const Reduction& over = {}) {
  const trace_internal::PublicCall call("nanmean", x.at());
  return nan_mean(x, over);
}
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nanmean(Operand x, Axis axis, Keep keep_dims = false) {
  const trace_internal::PublicCall call("nanmean", x.at());
  return nan_mean(x, axis, keep_dims);
}
// nan_prod
inline Tensor nanprod(Operand x, const Reduction& over = {}) {
  const trace_internal::PublicCall call("nanprod", x.at());
  return nan_prod(x, over);
}
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nanprod(Operand x, Axis axis, Keep keep_dims = false) {
  const trace_internal::PublicCall call("nanprod", x.at());
  return nan_prod(x, axis, keep_dims);
}
// nan_max
inline Tensor nanmax(Operand x, const Reduction& over = {}) {
  const trace_internal::PublicCall call("nanmax", x.at());
  return nan_max(x, over);
}
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nanmax(Operand x, Axis axis, Keep keep_dims = false) {
  const trace_internal::PublicCall call("nanmax", x.at());
  return nan_max(x, axis, keep_dims);
}
// nan_min
inline Tensor nanmin(Operand x, const Reduction& over = {}) {
  const trace_internal::PublicCall call("nanmin", x.at());
  return nan_min(x, over);
}
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nanmin(Operand x, Axis axis, Keep keep_dims = false) {
  const trace_internal::PublicCall call("nanmin", x.at());
  return nan_min(x, axis, keep_dims);
}
// nan_var
inline Tensor nanvar(Operand x, const Reduction& over = {}, base::Int ddof = 0) {
  const trace_internal::PublicCall call("nanvar", x.at());
  return nan_var(x, over, ddof);
}
template <class Axis = trace_internal::BracedAxes, class Count = int64_t>
Tensor nanvar(Operand x, Axis axis, Count ddof = 0) {
  const trace_internal::PublicCall call("nanvar", x.at());
  return nan_var(x, axis, ddof);
}
// nan_std
inline Tensor nanstd(Operand x, const Reduction& over = {}, base::Int ddof = 0) {
  const trace_internal::PublicCall call("nanstd", x.at());
  return nan_std(x, over, ddof);
}
template <class Axis = trace_internal::BracedAxes, class Count = int64_t>
Tensor nanstd(Operand x, Axis axis, Count ddof = 0) {
  const trace_internal::PublicCall call("nanstd", x.at());
  return nan_std(x, axis, ddof);
}
// nan_argmax
inline Tensor nanargmax(Operand x, base::Int axis) {
  const trace_internal::PublicCall call("nanargmax", x.at());
  return nan_argmax(x, axis);
}
inline Tensor nanargmax(Operand x) {
  const trace_internal::PublicCall call("nanargmax", x.at());
  return nan_argmax(x);
}
// nan_argmin
inline Tensor nanargmin(Operand x, base::Int axis) {
  const trace_internal::PublicCall call("nanargmin", x.at());
  return nan_argmin(x, axis);
}
inline Tensor nanargmin(Operand x) {
  const trace_internal::PublicCall call("nanargmin", x.at());
  return nan_argmin(x);
}
// nan_median
inline Tensor nanmedian(Operand x, const Reduction& over = {}) {
  const trace_internal::PublicCall call("nanmedian", x.at());
  return nan_median(x, over);
}
// nan_median
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nanmedian(Operand x, Axis axis, Keep keep_dims = false) {
  return nanmedian(x, trace_internal::over_axis(axis, keep_dims));
}
// nan_quantile
inline Tensor nanquantile(Operand x, const QuantileLevels& q, const Reduction& over = {},
                          QuantileMethod between = QuantileMethod::kLinear) {
  const trace_internal::PublicCall call("nanquantile", x.at());
  return nan_quantile(x, q, over, between);
}
// nan_quantile
template <class Axis = trace_internal::BracedAxes>
Tensor nanquantile(Operand x, const QuantileLevels& q, Axis axis,
                   QuantileMethod between = QuantileMethod::kLinear) {
  return nanquantile(x, q, trace_internal::over_axis(axis), between);
}
// nan_percentile
inline Tensor nanpercentile(Operand x, const QuantileLevels& q, const Reduction& over = {},
                            QuantileMethod between = QuantileMethod::kLinear) {
  const trace_internal::PublicCall call("nanpercentile", x.at());
  return nan_percentile(x, q, over, between);
}
// nan_percentile
template <class Axis = trace_internal::BracedAxes>
Tensor nanpercentile(Operand x, const QuantileLevels& q, Axis axis,
                     QuantileMethod between = QuantileMethod::kLinear) {
  return nanpercentile(x, q, trace_internal::over_axis(axis), between);
}
// is_posinf
inline Tensor isposinf(Operand x) {
  const trace_internal::PublicCall call("isposinf", x.at());
  return is_posinf(x);
}
// is_neginf
inline Tensor isneginf(Operand x) {
  const trace_internal::PublicCall call("isneginf", x.at());
  return is_neginf(x);
}
// permute
inline Tensor ppermute(const Tensor& x, const MeshAxes& axes, const DevicePairs& pairs,
                       SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("ppermute", at);
  return permute(x, axes, pairs, at);
}
// reduce_scatter
inline Tensor psum_scatter(const Tensor& x, const MeshAxes& axes,
                           const CollectiveOptions& options = {},
                           SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("psum_scatter", at);
  return reduce_scatter(x, axes, options, at);
}

}  // namespace heddle
