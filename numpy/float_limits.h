// The limits of dtypes, and the next float. Names are those of jax.numpy.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/hlo/dtype.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// jax.numpy.finfo of an IEEE float, as doubles, which hold them exactly.
struct FloatLimits {
  int64_t mantissa_bits;     // stored ones: 23 for f32
  double epsilon;            // from 1 up to the next float
  double epsilon_below;      // from 1 down to the next float
  double smallest_normal;    // least positive float with a full mantissa
  double smallest_positive;  // least positive float
  double largest;
};

// Whether limits are known: f16, bf16, f32 and f64.
bool has_float_limits(DType dtype);
// jax.numpy.finfo: the limits of f16, bf16, f32 or f64.
// errors: Error (InvalidArgument) for a dtype whose limits are not known
FloatLimits float_limits(DType dtype, SourceLocation at = SourceLocation::here());

// jax.numpy.iinfo of an integer dtype.
struct IntegerLimits {
  int64_t bits;
  int64_t least;
  uint64_t greatest;
};
// jax.numpy.iinfo: the limits of an integer dtype.
// errors: Error (InvalidArgument) for a dtype that is not of integers
IntegerLimits integer_limits(DType dtype, SourceLocation at = SourceLocation::here());

// The float next to x on the way to y; y where they are equal, NaN where either is. x and y
// broadcast. errors: Error where they are not f16, bf16, f32 or f64
Tensor nextafter(Operand x, Operand y);

namespace trace_internal {

// Throws unless `dtype` is f16, bf16, f32 or f64: "op: what is s32; it must be ..".
void require_ieee_float(std::string_view what, DType dtype);

}  // namespace trace_internal
}  // namespace heddle
