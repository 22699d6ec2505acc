// Elementwise functions made of others: plain HLO, nothing more. Names are those of jax.numpy.
//
// Two operands broadcast, and a C++ number takes the tensor's dtype, as in trace/elementwise.h.
// errors: all throw Error (InvalidArgument) with the op, the operand types and the caller's line
#pragma once

#include "heddle/base/flag.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// Of floats.
Tensor log2(Operand x);
Tensor log10(Operand x);                 // The logarithm to base 10, of floats
Tensor exp2(Operand x);                  // 2 to the x
Tensor trunc(Operand x);                 // to the nearest integer on the side of 0
Tensor deg2rad(Operand x);               // x pi / 180
Tensor rad2deg(Operand x);               // x 180 / pi
Tensor is_inf(Operand x);                // pred: infinite, of either sign
Tensor signbit(Operand x);               // pred: the sign bit, also that of -0 and NaN
Tensor hypot(Operand x, Operand y);      // sqrt(x * x + y * y), without overflow
Tensor logaddexp(Operand x, Operand y);  // log(exp(x) + exp(y)), without overflow
Tensor copysign(Operand x, Operand y);   // |x| with the sign bit of y

// Of integers or floats: the quotient rounded toward -inf, and what is left, of the sign of y. Of
// integers by 0, as jax.numpy has it: -2 (-1 of 0, the greatest of unsigned ones), and 0 is left.
Tensor floor_divide(Operand x, Operand y);
Tensor mod(Operand x, Operand y);  // What floor_divide leaves, of the sign of y
// mod by jax.numpy's other name: of the sign of y, where x % y, fmod and rem have that of x.
Tensor remainder(Operand x, Operand y);
// x / y as floats: integers and pred are cast first, to f64 if they have 64 bits and else to f32.
Tensor true_divide(Operand x, Operand y);

// Of complex numbers; real ones are their own conjugates, and have the angle 0 or, with a sign bit,
// pi.
Tensor conj(Operand x);   // the conjugate
Tensor angle(Operand x);  // atan2(imag(x), real(x)), a real type

Tensor iscomplex(Operand x);  // pred: whether the imaginary part is not 0
Tensor isreal(Operand x);     // pred: whether it is

// NaN replaced by `nan`, infinities by the greatest and least number of the dtype; of complex
// numbers in both parts. Integers stay as they are.
Tensor nan_to_num(Operand x, double nan = 0);

// Of numbers of any kind; integers are compared as floats.
// |x - y| <= absolute + relative * |y|; equal infinities are close. NaN is close to nothing, unless
// `equal_nan`: to NaN.
struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-8;
  base::Flag equal_nan = false;
};
Tensor is_close(Operand x, Operand y, const Tolerance& within = {});   // pred, elementwise
Tensor all_close(Operand x, Operand y, const Tolerance& within = {});  // pred[]: all are

}  // namespace heddle
