// Elementwise functions made of others: logarithms, division, rounding, parts of floats, choices by
// condition. Names are those of jax.numpy.
//
// Two operands broadcast, and a C++ number takes the tensor's dtype, as in
// trace/ops/elementwise/elementwise.h.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/base/containers/fields.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// The logarithm to base 2, of floats or complex numbers.
Tensor log2(Operand x);
Tensor log10(Operand x);                 // the logarithm to base 10
Tensor exp2(Operand x);                  // 2 to the x
Tensor trunc(Operand x);                 // to the nearest integer on the side of 0
Tensor deg2rad(Operand x);               // x pi / 180
Tensor rad2deg(Operand x);               // x 180 / pi
Tensor is_inf(Operand x);                // pred: infinite, of either sign
Tensor signbit(Operand x);               // pred: the sign bit, also that of -0 and NaN
Tensor hypot(Operand x, Operand y);      // sqrt(x * x + y * y), without overflow
Tensor logaddexp(Operand x, Operand y);  // log(exp(x) + exp(y)), without overflow
Tensor copysign(Operand x, Operand y);   // |x| with the sign bit of y

// The quotient of integers or floats, rounded toward -inf. Integers by 0 give, as in jax.numpy, -2
// (0 gives -1, unsigned ones the greatest value), and mod gives 0.
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
template <class Number>
trace_internal::Refused nan_to_num(Operand /*x*/, double /*nan*/, Number /*posinf*/) {
  static_assert(!sizeof(Number),
                "infinities become the greatest and least numbers of the dtype: for others write "
                "where(is_posinf(x), 1, nan_to_num(x))");
  return {};
}

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
// The same, as numpy has it: is_close(x, y, 1e-3).
template <class Relative>
requires std::is_arithmetic_v<Relative> Tensor is_close(Operand x, Operand y, Relative relative,
                                                        double absolute = 1e-8) {
  return is_close(x, y, Tolerance{static_cast<double>(relative), absolute});
}
// The same, as numpy has it: all_close(x, y, 1e-3, 1e-6).
template <class Relative>
requires std::is_arithmetic_v<Relative> Tensor all_close(Operand x, Operand y, Relative relative,
                                                         double absolute = 1e-8) {
  return all_close(x, y, Tolerance{static_cast<double>(relative), absolute});
}

// Rounded to so many decimals, ties to even: round(x 10^d) / 10^d; what is too great for that has
// no such decimals, and stays. Integers stay as they are, and have no negative decimals.
Tensor around(Operand x, base::Int decimals = 0);
template <class... None>
trace_internal::Refused round(Operand /*x*/, trace_internal::RefusedNumber /*decimals*/) {
  static_assert(!sizeof(std::type_identity<trace_internal::Refused(None...)>),
                "round(x) is to whole numbers: for decimals write around(x, 2)");
  return {};
}

Tensor is_posinf(Operand x);  // pred: inf; of floats
Tensor is_neginf(Operand x);  // pred: -inf; of floats
// 0 below 0, 1 above it, and `at_zero` at 0; NaN of NaN.
Tensor heaviside(Operand x, Operand at_zero);
// log2(2^x + 2^y), without overflow.
Tensor logaddexp2(Operand x, Operand y);
// What division rounded toward 0 leaves: it has the sign of x, where that of mod has that of y. Of
// integers by 0 it is 0.
Tensor fmod(Operand x, Operand y);
// The greater (lesser) one; of a number and a NaN the number.
Tensor fmax(Operand x, Operand y);
Tensor fmin(Operand x, Operand y);  // The lesser one; of a number and a NaN the number

// floor_divide and mod at once.
struct DivmodResult {
  Tensor quotient;   // of the shape that x and y broadcast to, and their dtype
  Tensor remainder;  // likewise
  static constexpr auto kFields = fields(field("quotient", &DivmodResult::quotient),
                                         field("remainder", &DivmodResult::remainder));
};
DivmodResult divmod(Operand x, Operand y);  // floor_divide and mod at once
// The fraction and the whole part of floats, both of the sign of x.
struct ModfResult {
  Tensor fraction;  // of x's shape and dtype
  Tensor whole;     // likewise
  static constexpr auto kFields =
      fields(field("fraction", &ModfResult::fraction), field("whole", &ModfResult::whole));
};
ModfResult modf(Operand x);  // The fraction and the whole part of floats, both of the sign of x

// A float as mantissa * 2^exponent, with |mantissa| in [1/2, 1) and exponent s32. 0, infinities and
// NaN are their own mantissas, with exponent 0.
struct FrexpResult {
  Tensor mantissa;  // of x's shape and dtype
  Tensor exponent;  // s32, of x's shape
  static constexpr auto kFields =
      fields(field("mantissa", &FrexpResult::mantissa), field("exponent", &FrexpResult::exponent));
};
FrexpResult frexp(Operand x);  // A float as mantissa * 2^exponent
// x 2^n, for integers n: exact, or rounded once to a number below the least normal one.
Tensor ldexp(Operand x, Operand n);
// How far the next float is, away from 0: of the sign of x. NaN where x is not finite.
Tensor spacing(Operand x);

// The element of the first choice whose condition (pred) is true; `otherwise` where none is.
// errors: also unless there are as many choices as conditions, one at least
Tensor select(const std::vector<Tensor>& conditions, const std::vector<Tensor>& choices,
              Operand otherwise = 0);
// The element of the choice that `which`, of integers, names; those outside are clamped.
Tensor choose(Operand which, const std::vector<Tensor>& choices);

// pred[]: whether shapes are equal and all elements are.
Tensor array_equal(Operand x, Operand y, base::Flag equal_nan = false);

// Bits (integers that are not 0, or pred), eight to a u8 along an axis, or of the flattened array;
// the greatest first, zeros at the end. And back.
Tensor packbits(Operand x, std::optional<base::Int> axis = {});
// u8 as eight bits each, 0 or 1 in u8, the greatest first.
Tensor unpackbits(Operand x, std::optional<base::Int> axis = {});

// The greatest integer that divides both, and the least that both divide; gcd(0, 0) is 0. Never
// negative, but where the least integer of a signed dtype would have to be. source: Euclid's
// algorithm. cost: a loop until all elements are found
Tensor gcd(Operand x, Operand y);
Tensor lcm(Operand x, Operand y);  // The least integer that both divide; 0 where either is

}  // namespace heddle
