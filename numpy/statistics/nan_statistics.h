// Statistics as if NaN were not there, and sums of segments. Names are those of jax.numpy and
// jax.ops; negative axes count from the end.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// The product as if NaN were not there; of nothing but NaN it is 1. It takes complex numbers too.
// Integers are all numbers, but nan_var and nan_std refuse them, as var does.
Tensor nan_prod(Operand x, const Reduction& over = {});
// The greatest number; of nothing but NaN it is NaN.
Tensor nan_max(Operand x, const Reduction& over = {});
// The least number; of nothing but NaN it is NaN.
Tensor nan_min(Operand x, const Reduction& over = {});
Tensor nan_var(Operand x, const Reduction& over = {},
               base::Int ddof = 0);  // NaN from count <= ddof
Tensor nan_std(Operand x, const Reduction& over = {}, base::Int ddof = 0);  // The root of nan_var
// Each over one axis, or a list of them: nan_max(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nan_prod(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_prod(x, trace_internal::over_axis(axis, keep_dims));
}
// nan_max over one axis, or a list of them: nan_max(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nan_max(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_max(x, trace_internal::over_axis(axis, keep_dims));
}
// nan_min over one axis, or a list of them: nan_min(x, 0).
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor nan_min(Operand x, Axis axis, Keep keep_dims = false) {
  return nan_min(x, trace_internal::over_axis(axis, keep_dims));
}
// nan_var over one axis, or a list of them: nan_var(x, 0).
template <class Axis = trace_internal::BracedAxes, class Count = int64_t>
Tensor nan_var(Operand x, Axis axis, Count ddof = 0) {
  return nan_var(x, trace_internal::over_axis(axis), trace_internal::ddof_of(ddof));
}
// nan_std over one axis, or a list of them: nan_std(x, 0).
template <class Axis = trace_internal::BracedAxes, class Count = int64_t>
Tensor nan_std(Operand x, Axis axis, Count ddof = 0) {
  return nan_std(x, trace_internal::over_axis(axis), trace_internal::ddof_of(ddof));
}

// s32 position of the greatest (least) number along an axis; -1 where there is none.
Tensor nan_argmax(Operand x, base::Int axis);
Tensor nan_argmax(Operand x);  // s32[]: the position in the flattened x
// s32 position of the least number along an axis; -1 where there is none.
Tensor nan_argmin(Operand x, base::Int axis);
Tensor nan_argmin(Operand x);  // s32[]: the position in the flattened x

// The sum of the rows x[n, ..] of each segment; without rows 0. `ids` [n], of integers, has the
// segment of each row, 0 .. segments - 1; rows with other ids are dropped. Gives [segments, ..].
Tensor segment_sum(Operand x, Operand ids, base::Int segments);
// The product of the rows of each segment; without rows 1.
Tensor segment_prod(Operand x, Operand ids, base::Int segments);
// The greatest of the rows of each segment; without rows the least value of the dtype.
Tensor segment_max(Operand x, Operand ids, base::Int segments);
// The least of the rows of each segment; without rows the greatest value of the dtype.
Tensor segment_min(Operand x, Operand ids, base::Int segments);

// cumsum and cumprod where a NaN counts as 0, and as 1. Of numbers.
Tensor nan_cumsum(Operand x, base::Int axis = 0);
Tensor nan_cumprod(Operand x, base::Int axis = 0);  // cumprod where a NaN counts as 1
// nan_cumsum, by its name in jax.numpy.
Tensor nancumsum(Operand x, base::Int axis = 0);
// nan_cumprod, by its name in jax.numpy.
Tensor nancumprod(Operand x, base::Int axis = 0);

}  // namespace heddle
