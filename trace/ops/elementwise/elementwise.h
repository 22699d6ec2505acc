// Elementwise operations: what happens to element i depends on element i alone. Names are those of
// jax.numpy and jax.lax.
//
// Two operands broadcast as numpy's do: shapes are matched from the last axis, size 1 stretches. A
// C++ number takes the tensor's dtype; two tensors must have the same dtype (cast with astype). The
// operators + - * / % & | ^ ~ << >> == != < <= > >= are the same ops (>> is arithmetic of signed
// integers, logical of unsigned ones). errors: all throw Error
// (InvalidArgument) with the op, the operand types and the caller's line
#pragma once

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// One operand; the result has its shape and dtype unless told.
Tensor abs(Operand x);               // absolute value; complex: magnitude, a real type
Tensor acos(Operand x);              // the angle whose cosine is x
Tensor acosh(Operand x);             // inverse of cosh
Tensor asin(Operand x);              // the angle whose sine is x
Tensor asinh(Operand x);             // inverse of sinh
Tensor atan(Operand x);              // the angle whose tangent is x
Tensor atanh(Operand x);             // inverse of tanh
Tensor cbrt(Operand x);              // cube root
Tensor ceil(Operand x);              // least integer that is not below x
Tensor copy(Operand x);              // x in a new buffer, so that the old one may be donated
Tensor cos(Operand x);               // cosine
Tensor cosh(Operand x);              // hyperbolic cosine
Tensor erf(Operand x);               // error function
Tensor exp(Operand x);               // e to the x
Tensor expm1(Operand x);             // exp(x) - 1, accurate near 0
Tensor floor(Operand x);             // greatest integer that is not above x
Tensor imag(Operand x);              // imaginary part
Tensor is_finite(Operand x);         // pred: neither infinite nor NaN
Tensor log(Operand x);               // natural logarithm
Tensor log1p(Operand x);             // log(1 + x), accurate near 0
Tensor logistic(Operand x);          // 1 / (1 + exp(-x))
Tensor logical_not(Operand x);       // pred: whether x is false, or 0
Tensor bitwise_not(Operand x);       // every bit; of integers or pred
Tensor negative(Operand x);          // -x
Tensor population_count(Operand x);  // number of 1 bits
Tensor clz(Operand x);               // number of leading 0 bits
Tensor real(Operand x);              // real part
Tensor round_half_away(Operand x);   // to the nearest integer, ties away from zero
Tensor round(Operand x);             // to the nearest integer, ties to even
Tensor rsqrt(Operand x);             // 1 / sqrt(x)
Tensor sign(Operand x);              // -1, 0 or 1; keeps -0 and NaN
Tensor sin(Operand x);               // sine
Tensor sinh(Operand x);              // hyperbolic sine
Tensor sqrt(Operand x);              // square root
Tensor tan(Operand x);               // tangent
Tensor tanh(Operand x);              // hyperbolic tangent
Tensor square(Operand x);            // x * x
Tensor reciprocal(Operand x);        // 1 / x
Tensor is_nan(Operand x);            // pred: whether x is no number

// Two operands.
Tensor add(Operand x, Operand y);       // x + y; pred: or
Tensor subtract(Operand x, Operand y);  // x - y
Tensor multiply(Operand x, Operand y);  // x * y; pred: and
// x / y; integers: toward zero, x / 0 is all ones. Errors also for integers and a C++ number with
// a point: 7 / 2.0 would not be 3.5.
Tensor divide(Operand x, Operand y);
Tensor rem(Operand x, Operand y);          // x % y, of the sign of x; x % 0 is x
Tensor power(Operand x, Operand y);        // x to the y; integers wrap
Tensor maximum(Operand x, Operand y);      // NaN if either is
Tensor minimum(Operand x, Operand y);      // NaN if either is
Tensor atan2(Operand x, Operand y);        // the angle whose tangent is x / y, by the signs of both
Tensor bitwise_and(Operand x, Operand y);  // of integers or pred
Tensor bitwise_or(Operand x, Operand y);   // of integers or pred
Tensor bitwise_xor(Operand x, Operand y);  // of integers or pred
Tensor shift_left(Operand x, Operand y);   // 0 from the bit width on
Tensor shift_right_arithmetic(Operand x, Operand y);  // sign fill from the bit width on
Tensor shift_right_logical(Operand x, Operand y);     // 0 from the bit width on
Tensor complex(Operand x, Operand y);                 // c64 from f32 parts, c128 from f64
Tensor mulhi(Operand x, Operand y);                   // the high half of the product of integers

// Comparisons give pred. With a NaN all are false but not_equal. pred has no order beside a number:
// 0.0 < y < 1 is an Error that says to write (0.0 < y) & (y < 1).
Tensor equal(Operand x, Operand y);          // x == y
Tensor not_equal(Operand x, Operand y);      // x != y
Tensor greater(Operand x, Operand y);        // x > y
Tensor greater_equal(Operand x, Operand y);  // x >= y
Tensor less(Operand x, Operand y);           // x < y
Tensor less_equal(Operand x, Operand y);     // x <= y

// pred, of any dtypes: a number is true where it is not 0.
Tensor logical_and(Operand x, Operand y);
Tensor logical_or(Operand x, Operand y);  // Pred, of any dtypes: whether either is true, or not 0
// Pred, of any dtypes: whether one is true, or not 0, and the other not.
Tensor logical_xor(Operand x, Operand y);

// x where `condition` (pred) is true, else y; the three broadcast together.
Tensor where(Operand condition, Operand x, Operand y);
template <class None = trace_internal::Refused>
trace_internal::Refused select(trace_internal::RefusedTensor /*condition*/,
                               trace_internal::RefusedAny, trace_internal::RefusedAny) {
  static_assert(!sizeof(std::type_identity<None>), "write where(condition, x, y)");
  return {};
}
// min(max(x, low), high); low and high broadcast to x.
Tensor clip(Operand x, Operand low, Operand high);
template <class... None>
trace_internal::Refused clip(Operand /*x*/, trace_internal::RefusedNumber /*low*/) {
  static_assert(!sizeof(std::type_identity<trace_internal::Refused(None...)>),
                "with one bound write maximum(x, low) or minimum(x, high)");
  return {};
}
// The same as one op, in the order of jax.lax: low and high are scalars or have the shape of x.
Tensor clamp(Operand low, Operand x, Operand high);

// Rounded to a float of fewer bits and back, ties to even.
Tensor reduce_precision(Operand x, base::Int exponent_bits, base::Int mantissa_bits);
// The same bits under another dtype. Narrower: a minor axis is added; wider: the minor axis goes.
Tensor bitcast_convert(Operand x, DType dtype);

}  // namespace heddle
