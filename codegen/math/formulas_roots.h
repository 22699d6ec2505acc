// Roots and remainders over an abstract number F, as formulas.h has functions.
#pragma once

#include "heddle/codegen/math/formulas_core.h"

namespace heddle::cpu {

// 1 / sqrt(x), as the machine's square root and division give it.
// At most 1.50 / 1.50 ulp.
template <Number F>
F rsqrt(F x) {
  return x.constant(1) / sqrt(x);
}

// One step of Newton from y, whose error counts once: x y has the bits that a product loses.
template <Number F>
F rsqrt_step(F x, F y) {
  const F product = x * y;
  const F rest = fma(-fma(x, y, -product), y, fma(-product, y, x.constant(1)));
  return fma(y * x.constant(0.5F), rest, y);
}

// rsqrt with such a step.
// At most 0.51 ulp of a double, where fma is fused.
template <Number F>
F rsqrt_corrected(F x) {
  const F estimate = rsqrt(x), y = rsqrt_step(x, estimate);
  return select(y == y, y, estimate);
}

// The same from an estimate that is off by 2^-14 of itself at most, or 1 / sqrt(x) itself where
// that is 0, infinite or NaN: steps of Newton.
// At most 1.06 / 0.92 ulp, where fma is fused.
template <Number F>
F rsqrt_from(F x, F estimate) {
  const F rest = fma(-(x * estimate), estimate, x.constant(1));
  F y = fma(estimate * x.constant(0.5F), rest, estimate);
  if constexpr (sizeof(typename F::Scalar) == 8) y = rsqrt_step(x, y);
  return select(y == y, y, estimate);
}

// The same from an estimate that is off by 1.5 2^-12 of itself at most, and takes subnormal numbers
// for 0: one step of third order, and 1 / sqrt(x) itself where the estimate is of no use.
// At most 1.1 ulp, 1.5 where x is subnormal.
template <Number F>
F rsqrt_from_rough(F x, F estimate) {
  const F y = estimate, half = x.constant(0.5F);
  const F rest = fma(-(x * y), y, x.constant(1));
  const F better = fma(y * rest, fma(rest, x.constant(0.375F), half), y);
  return rarely(!(abs(rest) < half), rsqrt(x), better);
}

// x - n y for n = |x / y| without its fraction, with the sign of x: exact, where fma is fused.
// NaN where n is not known, since |x / y| is too large or not finite: call libm.
template <Number F>
F fmod_of_near(F x, F y) {
  using S = typename F::Scalar;
  const F a = abs(x), b = abs(y);
  const F quotient = a / b;
  // n, or 1 more where the quotient rounds up: the difference is exact in both cases.
  const F rest = fma(-floor(quotient), b, a);
  const F value = copysign(select(rest < x.constant(0), rest + b, rest), x);
  const F most = x.constant(S(int64_t{1} << std::numeric_limits<S>::digits));
  return select(quotient < most, value, x.constant(std::numeric_limits<S>::quiet_NaN()));
}

// C's fmod of x by y, a power of two from 2^-60 to 2^60. Exact: a multiple of y that is at most |x|
// has no more bits than x.
template <Number F>
F fmod_of_power(F x, typename F::Scalar y) {
  using S = typename F::Scalar;
  const F a = abs(x);
  F rest = a - floor(a * x.constant(1 / y)) * x.constant(y);
  // Such large numbers are multiples of y < 1, and their quotients may be infinite. a - a is 0, or
  // NaN where x is infinite or NaN.
  if (y < 1) rest = select(a < x.constant(S(int64_t{1} << 60)), rest, a - a);
  return copysign(rest, x);
}

// The real cube root: a polynomial for m^(-1/3), one step of third order, one corrected step.
// At most 0.51 / 0.51 ulp.
template <Number F>
F cbrt(F x) {
  using S = typename F::Scalar;
  using C = Coefficients<S>;
  using Fmt = Format<S>;
  const F one = x.constant(1);
  const F zero = x.constant(0);
  const F a = abs(x);
  const auto subnormal = a < x.constant(Fmt::min_normal);
  const auto i = bits(select(subnormal, a * x.constant(Fmt::subnormal_scale), a));
  const auto mantissa_mask = x.int_constant((std::int64_t{1} << Fmt::mantissa_bits) - 1);
  const F m = float_from_bits((i & mantissa_mask) | x.int_constant(bits_of(S(1))));
  const F offset =
      select(subnormal, x.constant(S(Fmt::bias + Fmt::subnormal_shift)), x.constant(S(Fmt::bias)));
  const F e = small_to_float(x, shift_right_logical(i, Fmt::mantissa_bits)) - offset;

  // e = 3 k + j, j in {0, 1, 2}: (e - 1) / 3 is never a tie.
  const F rounder = x.constant(Fmt::rounder);
  const F shifted = fma(e - one, x.constant(S(1.0 / 3)), rounder);
  const F j = fma(shifted - rounder, x.constant(-3), e);
  const auto j_is_0 = j < x.constant(S(0.5));
  const auto j_is_2 = j > x.constant(S(1.5));
  const F cube = m * select(j_is_0, one, select(j_is_2, x.constant(4), x.constant(2)));
  const F guess =
      polynomial(C::cbrt, m) *
      select(j_is_0, one, select(j_is_2, x.constant(C::cbrt_quarter), x.constant(C::cbrt_half)));

  const F h = fma(-(cube * (guess * guess)), guess, one);
  const F inverse = fma(guess * h, fma(h, x.constant(S(2.0 / 9)), x.constant(S(1.0 / 3))), guess);
  const F inverse_square = inverse * inverse;
  const F y = cube * inverse_square;
  const F square = y * y;
  const F rest = fma(-square, y, cube) - fma(y, y, -square) * y;
  const F root = fma(rest, inverse_square * x.constant(S(1.0 / 3)), y);
  const F result = root * power_of_two(x, rounded_integer(shifted));
  return select((a > zero) & (a < infinity_like(x)), copysign(result, x), x);
}

}  // namespace heddle::cpu
