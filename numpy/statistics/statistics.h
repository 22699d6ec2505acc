// Statistics beyond sums and means. Names are those of jax.numpy; negative axes count from the end.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// sum(weights * x) / sum(weights), of floats or complex numbers; the weights have x's shape, or are
// a vector along `axis`.
Tensor average(Operand x, Operand weights, std::optional<base::Int> axis = {});

Tensor ptp(Operand x, const Reduction& over = {});            // max - min
Tensor count_nonzero(Operand x, const Reduction& over = {});  // s32
// As if NaN were not there; of nothing but NaN the sum is 0 and the mean, of floats, is NaN.
Tensor nan_sum(Operand x, const Reduction& over = {});
// The mean as if NaN were not there; of nothing but NaN it is NaN.
Tensor nan_mean(Operand x, const Reduction& over = {});

// Each over one axis, or a list of them: ptp(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor ptp(Operand x, Axis axis, Keep keep_dims = false) {
  return ptp(x, trace_internal::over_axis(axis, keep_dims));
}
// count_nonzero over one axis, or a list of them: count_nonzero(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor count_nonzero(Operand x, Axis axis, Keep keep_dims = false) {
  return count_nonzero(x, trace_internal::over_axis(axis, keep_dims));
}
// nan_sum over one axis, or a list of them: nan_sum(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nan_sum(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_sum(x, trace_internal::over_axis(axis, keep_dims));
}
// nan_mean over one axis, or a list of them: nan_mean(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nan_mean(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_mean(x, trace_internal::over_axis(axis, keep_dims));
}

// The covariances of variables, from rows of observations x: [variables, n] -> [variables,
// variables]; the variance of one, [n] -> []. The sums are divided by n - ddof (or 0 if that is
// negative).
Tensor cov(Operand x, base::Int ddof = 1);
Tensor corrcoef(Operand x);  // cov divided by the deviations of both variables: -1 .. 1

// How often each of 0 .. length - 1 is in x, of integers: s32[length]. Others are not counted. With
// weights, of x's shape, their sums.
Tensor bincount(Operand x, base::Int length, std::optional<Operand> weights = {});
template <class None = trace_internal::Refused>
trace_internal::Refused bincount(trace_internal::RefusedTensor /*x*/) {
  static_assert(!sizeof(std::type_identity<None>),
                "the number of results is part of a shape: write bincount(x, length)");
  return {};
}
// How many elements of x lie in each of `bins` equal parts of low .. high, both ends included; s32.
// Integers are counted as f64.
Tensor histogram(Operand x, base::Int bins, double low, double high);

}  // namespace heddle
