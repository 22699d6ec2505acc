// The order that sorting has, of two scalars. Private to Heddle's op functions.
#pragma once

#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

// Whether a is before b: by value, a NaN greater than every number; complex numbers by their real
// and then by their imaginary parts.
Tensor comes_before(const Tensor& a, const Tensor& b, bool descending);
// Whether neither is before the other.
Tensor is_level(const Tensor& a, const Tensor& b);

}  // namespace heddle::trace_internal
