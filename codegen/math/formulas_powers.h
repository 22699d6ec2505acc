// x^y. See formulas.h for what holds of all formulas.
#pragma once

#include "heddle/codegen/math/formulas_core.h"

namespace heddle::cpu {

// log(a) of doubles as a sum good to about 1.2 times the precision, for positive finite a:
// 2 atanh(s), its first two terms in pairs (Dekker 1971, fdlibm 1993).
template <Number F>
Sum<F> precise_log(F a) {
  using C = Coefficients<typename F::Scalar>;
  const F two = a.constant(2);
  const auto parts = split_exponent(a);
  const F f = parts.f;
  const auto s = divide({f, f.constant(0)}, exact_sum(two, f));
  // log(1 + f) = s (2 + 2/3 z + z^2 T(z)), z = s^2; the first two terms need both parts.
  const F z = s.hi * s.hi;
  const F z_lo = fma(s.hi, s.hi, -z) + (s.hi + s.hi) * s.lo;
  const F two_thirds = a.constant(C::two_thirds_hi);
  const F w = z * two_thirds;
  const F w_lo = fma(z, two_thirds, -w) + fma(z_lo, two_thirds, z * a.constant(C::two_thirds_lo));
  const F near = z + z_lo;
  const F square = near * near;
  const F tail = polynomial(C::log_tail, near);
  const F bend = fma(square, tail, w);
  const F bend_lo = fma(square, tail, w - bend) + w_lo;
  const auto sum = exact_sum(two, bend);
  const F factor_lo = sum.lo + bend_lo;
  const F product = s.hi * sum.hi;
  const F product_lo = fma(s.hi, sum.hi, -product) + fma(s.hi, factor_lo, s.lo * sum.hi);
  const auto total = exact_sum(parts.k * a.constant(C::ln2_hi), product);
  return exact_sum(total.hi, total.lo + fma(parts.k, a.constant(C::ln2_lo), product_lo));
}

// a^y for a >= 0, in doubles and good to the precision of a float. The conversion to a float makes
// what overflows infinite, and what underflows subnormal or zero. NaN where y log2(a) is NaN.
template <Number F>
F power_for_single(F a, F y) {
  using C = Coefficients<double>;
  const F infinity = infinity_like(a);
  const auto parts = split_exponent_of_normal(a);
  // Of zero and infinity the fraction is some number, and the exponent alone counts. It is known
  // before the polynomial is.
  const F k = select(a == a.constant(0), -infinity, select(a == infinity, infinity, parts.k));
  const F p = y * fma(parts.f, polynomial(C::log2_for_single, parts.f), k);
  const F rounder = a.constant(Format<double>::rounder);
  const F shifted = p + rounder;
  const F r = p - (shifted - rounder);
  const F scale = power_of_two(a, rounded_integer(shifted));
  const F ordinary = fma(scale * r, polynomial(C::exp2_for_single, r), scale);
  const F most = a.constant(200);  // beyond a float's exponents
  return select(p > most, infinity, select(p < -most, a.constant(0), ordinary));
}

// a^y for a >= 0: of floats by doubles, of doubles as e^(y log a), the exponent kept as a sum.
template <Number F>
F nonnegative_power(F a, F y) {
  using S = typename F::Scalar;
  using Fmt = Format<S>;
  if constexpr (is_single<F>) {
    return in_double(a, y,
                     [](auto wide_a, auto wide_y) { return power_for_single(wide_a, wide_y); });
  } else {
    const F zero = a.constant(0);
    const F infinity = infinity_like(a);
    const auto log_a = precise_log(a);
    const F log_hi = select(a == zero, -infinity, select(a == infinity, infinity, log_a.hi));
    const F p = y * log_hi;
    const F p_lo = fma(y, log_a.lo, fma(y, log_hi, -p));
    const auto parts = reduce_by_ln2(p, shifted_by_log2_e(p));
    const auto scale = power_of_two_factors(a, parts.n);
    const F lost = parts.lost + p_lo;
    const F r = parts.r;
    const F bend = r * r * polynomial(Coefficients<S>::exp, r);
    const F q = r + (bend + fma(lost, r + bend, lost));
    const F ordinary = fma(scale.hi, q, scale.hi) * scale.lo;
    return select(p > a.constant(Fmt::exp_overflow), infinity,
                  select(p < a.constant(Fmt::exp_underflow), zero, ordinary));
  }
}

// x^y by |x|^y and the table of special cases. At most 0.6 / 0.96 ulp.
template <Number F>
F pow(F x, F y) {
  using S = typename F::Scalar;
  const F one = x.constant(1);
  const F a = abs(x);
  const F half_y = y * x.constant(S(0.5));
  const auto whole = floor(y) == y;
  const auto odd = whole & (floor(half_y) != half_y);
  const F sign = select(odd, x, one);
  // All that is special is known before the power is: one select() after it.
  const auto is_one = (x == one) | (y == x.constant(0));
  const auto no_root = (x < x.constant(0)) & (x > -infinity_like(x)) & !whole;
  const auto nan = (x != x) | (y != y);
  const F special =
      select(is_one, one, select(no_root, nan_like(x), select(nan, x + y, copysign(one, sign))));
  return select(is_one | no_root | nan | (a == one), special,
                copysign(nonnegative_power(a, y), sign));
}

}  // namespace heddle::cpu
