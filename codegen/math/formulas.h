// Elementary functions as formulas over an abstract number F (the concept Number): one scalar, a
// vector of any number of lanes, or a node in a builder of machine code. Nothing branches on a
// value; both sides of a choice are computed and a select takes one.
//
// Accuracy: above each function stands the largest error found, float / double, in ulp of the
// result, subnormal results too. Tried were all floats where the result is not simply 0, 1, x or
// infinite, and a sample of the rest (pow and atan2: 130 million pairs); of doubles 33 million for
// each function, many at the hard places: near multiples of pi/2, at all exponents, at the
// specials. Zeros, infinities, NaN and subnormal numbers are as in Annex F of C99. errno is not
// set, and exception flags mean nothing. Rounding is to nearest, and nothing is flushed to zero.
//
// fma has to be fused, and nothing else may be contracted or reordered. On a machine that computes
// fma(a, b, c) as a * b + c, all but sin, cos, tan and pow of doubles stay below 2 ulp; those four
// are wrong there, call libm.
//
// The polynomials are our own, from make_formulas.py; they go by Estrin's scheme, for a short wait.
#pragma once

#include "heddle/codegen/math/formulas_core.h"
#include "heddle/codegen/math/formulas_powers.h"
#include "heddle/codegen/math/formulas_roots.h"

namespace heddle::cpu {

// sin, cos and tan are right for |x| <= this, and for infinities and NaN. Beyond, call libm.
template <class Scalar>
inline constexpr Scalar kTrigonometricBound = Scalar(0);
template <>
inline constexpr float kTrigonometricBound<float> = 0x1p19F;
template <>
inline constexpr double kTrigonometricBound<double> = 0x1p40;

// ---- Exponentials ------------------------------------------------------------------------------

// e^x. Cody and Waite 1980: x = n ln(2) + r, a polynomial for e^r.
// At most 1.02 / 1.02 ulp.
template <Number F>
F exp(F x) {
  using S = typename F::Scalar;
  using C = Coefficients<S>;
  using Fmt = Format<S>;
  // At these bounds the product is infinite and 0 by itself; NaN is neither above nor below.
  const F most = x.constant(Fmt::exp_overflow), least = x.constant(Fmt::exp_underflow);
  x = select(x > most, most, x);
  x = select(x < least, least, x);
  // The exponents' bias is in the low bits too.
  const F rounder = x.constant(Fmt::rounder + S(2 * Fmt::bias));
  const F shifted = fma(x, x.constant(C::log2_e), rounder);
  const F n = shifted - rounder;
  const F r = fma(n, x.constant(-C::ln2_lo), fma(n, x.constant(-C::ln2_hi), x));
  const auto scale = biased_factors(bits(shifted));
  // A product that is subnormal takes 100 cycles of many machines. A sum of the least normal number
  // and what is below it has that in its low bits, rounded once too.
  const F offset =
      select(x < x.constant(Fmt::exp_least_normal), x.constant(Fmt::min_normal), x.constant(0));
  const F y = fma(fma(scale.hi, small_expm1(r), scale.hi), scale.lo, offset);
  return float_from_bits(bits(y) - bits(offset));
}

// exp(x) + c in fewer operations, with the same bits, for |c| from 2^-60 to 2^60: what is far below
// the last bit of c needs no exponent of its own.
template <Number F>
F exp_plus(F x, F c) {
  using S = typename F::Scalar;
  using C = Coefficients<S>;
  using Fmt = Format<S>;
  const F most = x.constant(Fmt::exp_overflow), least = x.constant(-80);  // e^-80 < 2^-115
  x = select(x > most, most, x);
  x = select(x < least, least, x);
  // Half of e^x, which does not overflow before the sum does.
  const F rounder = x.constant(Fmt::rounder + S(Fmt::bias - 1));
  const F shifted = fma(x, x.constant(C::log2_e), rounder);
  const F n = shifted - rounder;
  const F r = fma(n, x.constant(-C::ln2_lo), fma(n, x.constant(-C::ln2_hi), x));
  const F half = float_from_bits(bits(shifted) << Fmt::mantissa_bits);
  return fma(fma(half, small_expm1(r), half), x.constant(2), c);
}

// e^x - 1 = (2^n - 1) + 2^n (e^r - 1), added with the rounding error kept.
// At most 0.75 / 0.96 ulp.
template <Number F>
F expm1(F x) {
  using S = typename F::Scalar;
  using Fmt = Format<S>;
  const auto parts = reduce_by_ln2(x, shifted_by_log2_e(x));
  // Half of everything, because 2^n may be just too large.
  const F half = power_of_two(x, parts.n - x.int_constant(1));
  const F r = parts.r;
  // e^r - 1 - r = r^2/2 + r^3 P(r). The largest term carries its rounding error.
  const F square = r * r;
  const F half_one = x.constant(S(0.5));
  const F square_lost = fma(r, r, -square);
  const F cubic = fma(square * r, polynomial(without_first(Coefficients<S>::exp), r),
                      fma(square_lost, half_one, parts.lost));
  const F rest = fma(square, half_one, cubic);
  const F offset = half - half_one;
  const auto sum = exact_sum(offset, half * r);
  const F offset_lost = (half - offset) - half_one;
  const F y = sum.hi + fma(half, rest, sum.lo + offset_lost);
  const F inside = select(x < x.constant(-Fmt::exp_negligible), x.constant(-1), y + y);
  return select(x > x.constant(Fmt::exp_overflow), infinity_like(x),
                select(abs(x) < x.constant(Fmt::tiny), x, inside));
}

// 1 / (1 + e^-x). With e^-x = 2^n (1 + q) it is 2^-n / ((2^-n + 1) + q), which cannot overflow.
// At most 1.69 / 0.98 ulp.
template <Number F>
F logistic(F x) {
  using S = typename F::Scalar;
  using C = Coefficients<S>;
  using Fmt = Format<S>;
  const F one = x.constant(1);
  const F minus = -x;
  const auto parts = reduce_by_ln2(minus, shifted_by_log2_e(minus));
  const F r = parts.r;
  const auto scale = power_of_two_factors(x, x.int_constant(0) - parts.n);
  const F power = scale.hi * scale.lo;
  const F large = power + one;
  const F large_lost = (one - large) + power;  // Exact for power <= 1, else it does not count.
  const F bend = r * r;
  const F slope = polynomial(C::exp, r);
  F y = x;
  if constexpr (is_single<F>) {
    const F below = large + fma(bend, slope, r + large_lost);
    y = scale.hi / below * scale.lo;
  } else {
    const F q = fma(bend, slope, r);
    const F below = large + q;
    const F lost = ((large - below) + q) + large_lost;
    const F inverse = one / below;
    const F rest = fma(-inverse, lost, fma(-inverse, below, one));
    y = fma(inverse, rest, inverse) * scale.hi * scale.lo;
  }
  const auto above = x > x.constant(Fmt::exp_negligible);
  const auto outside = above | (x < x.constant(Fmt::exp_underflow));
  return select(outside, select(above, one, x.constant(0)), y);
}

// tanh of a >= 0, or NaN: h / (h + 1) for h = (e^2a - 1) / 2 = (2^n - 1) / 2 + 2^n p, and
// a / (a coth(a)) up to 0.26, where the roundings of h would show.
template <Number F>
F tanh_of_single(F a) {
  using S = typename F::Scalar;
  using C = Coefficients<S>;
  using Fmt = Format<S>;
  const F one = a.constant(1), half = a.constant(S(0.5));
  // The exponent's bias is in the low bits too.
  const F rounder = a.constant(Fmt::rounder + S(Fmt::bias));
  const F shifted = fma(a, a.constant(C::twice_log2_e), rounder);
  const F r = fma(shifted - rounder, a.constant(-C::half_ln2), a);
  const F scale = float_from_bits(bits(shifted) << Fmt::mantissa_bits);
  const F p = fma(r * r, polynomial(C::half_expm1, r), r);
  const F h = fma(scale, p, fma(scale, half, -half));
  const F square = a * a;
  const F near = fma(polynomial(C::a_coth, square), square, one);
  const auto is_near = a < a.constant(S(0.26));
  return select(is_near, a, h) / select(is_near, near, h + one);
}

// Odd polynomial up to 1, from there 1 - 2 (P - r) / (2^n (P + r) + (P - r)).
template <Number F>
F tanh_of_double(F a) {
  using S = typename F::Scalar;
  using C = Coefficients<S>;
  using Fmt = Format<S>;
  const F one = a.constant(1);
  const F square = a * a;
  const F small = fma(square * a, polynomial(C::tanh, square), a);
  // The exponent's bias is in the low bits too.
  const F rounder = a.constant(Fmt::rounder + S(Fmt::bias));
  const F shifted = fma(a, a.constant(C::twice_log2_e), rounder);
  const F n = shifted - rounder;
  const F r = fma(n, a.constant(-C::ln2_lo), fma(n, a.constant(-C::ln2_hi), a + a));
  const F bend = r * r;
  const F p = fma(bend, polynomial(C::half_coth, bend), a.constant(2));
  const F scale = float_from_bits(bits(shifted) << Fmt::mantissa_bits);
  const F less = p - r;
  const F large = one - (less + less) / fma(scale, p + r, less);
  return choose(!(a < one), large, small);
}

// At most 1.89 / 1.10 ulp.
template <Number F>
F tanh(F x) {
  const F most = x.constant(Format<typename F::Scalar>::tanh_one);
  F a = abs(x);
  a = select(a > most, most, a);
  if constexpr (is_single<F>) {
    return copysign(tanh_of_single(a), x);
  } else {
    return copysign(tanh_of_double(a), x);
  }
}

// e^a / 4 for a >= 0: scale (1 + r), exactly, and what the rest of the series adds.
template <Number F>
Sum<F> quarter_exp(F a) {
  const auto parts = reduce_by_ln2(a, shifted_by_log2_e(a));
  const F scale = power_of_two(a, parts.n - a.int_constant(2)), r = parts.r;
  const auto first = exact_sum(scale, scale * r);
  const F bend = polynomial(Coefficients<typename F::Scalar>::exp, r);
  return {first.hi, fma(scale, fma(r * r, bend, parts.lost), first.lo)};
}

// Odd polynomial up to 1, from there 2 (e^a / 4 - e^-a / 4).
// At most 0.79 / 0.80 ulp.
template <Number F>
F sinh(F x) {
  using S = typename F::Scalar;
  const F one = x.constant(1);
  const F a = abs(x);
  const F square = a * a;
  const F small = fma(square * a, polynomial(Coefficients<S>::sinh, square), a);
  const auto half = quarter_exp(a);
  const F other = x.constant(S(0.0625)) / (half.hi + half.lo);
  const F y = half.hi + (half.lo - other);
  const F large = select(a > x.constant(Format<S>::sinh_overflow), infinity_like(x), y + y);
  return copysign(choose(!(a < one), large, small), x);
}

// 2 (e^a / 4 + e^-a / 4).
// At most 0.88 / 0.88 ulp.
template <Number F>
F cosh(F x) {
  using S = typename F::Scalar;
  const F a = abs(x);
  const auto half = quarter_exp(a);
  const F other = x.constant(S(0.0625)) / (half.hi + half.lo);
  const F y = half.hi + (half.lo + other);
  return select(a > x.constant(Format<S>::sinh_overflow), infinity_like(x), y + y);
}

// ---- Logarithms --------------------------------------------------------------------------------

// log(1 + f) - f, as a large part -f^2 / 2 and the rest. The form with atanh is fdlibm's (1993).
template <Number F>
Sum<F> log_bend(F f) {
  using S = typename F::Scalar;
  using C = Coefficients<S>;
  const F half_square = f * f * f.constant(S(0.5));
  if constexpr (is_single<F>) {
    return {-half_square, f * f * f * polynomial(C::log, f)};
  } else {
    // log(1 + f) = 2 atanh(s), s = f / (2 + f), and 2s = f - s f.
    const F s = f / (f.constant(2) + f);
    const F z = s * s;
    return {-half_square, s * fma(z, polynomial(C::log, z), half_square)};
  }
}

// k ln(2) + log(1 + f + f_lost), f_lost below an ulp of f.
template <Number F>
F log_from_parts(F k, F f, F f_lost) {
  using C = Coefficients<typename F::Scalar>;
  const auto bend = log_bend(f);
  const auto sum = exact_sum(k * f.constant(C::ln2_hi), f);
  const F low = fma(k, f.constant(C::ln2_lo), f_lost);
  return sum.hi + ((sum.lo + bend.hi) + (bend.lo + low));
}

// y where log(argument) is an ordinary number, else what Annex F says.
template <Number F>
F log_or_special(F argument, F y) {
  const F zero = argument.constant(0);
  const auto is_above = argument > zero;
  const F special = select(is_above, argument,
                           select(argument == zero, -infinity_like(argument), nan_like(argument)));
  return select(is_above & (argument < infinity_like(argument)), y, special);
}

template <Number F>
F log_of_single(LogParts<F> parts) {
  using C = Coefficients<float>;
  const auto [k, f] = parts;
  const F square = f * f;
  const F low = fma(square * f, polynomial(C::log, f), k * f.constant(C::ln2_lo));
  return fma(k, f.constant(C::ln2_hi), f + fma(square, f.constant(-0.5F), low));
}

// log(x) = k ln(2) + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)).
// At most 0.85 / 0.85 ulp.
template <Number F>
F log(F x) {
  const auto log_of = [&](LogParts<F> parts) {
    if constexpr (is_single<F>) {
      return log_of_single(parts);
    } else {
      return log_from_parts(parts.k, parts.f, x.constant(0));
    }
  };
  const auto is_ordinary =
      (x >= x.constant(Format<typename F::Scalar>::min_normal)) & (x < infinity_like(x));
  return rarely(!is_ordinary, log_or_special(x, log_of(split_exponent(x))),
                log_of(split_exponent_of_normal(x)));
}

// log2(x) = k + log2(e) log(1 + f), exact for powers of two.
// At most 1.10 / 1.05 ulp.
template <Number F>
F log2(F x) {
  using C = Coefficients<typename F::Scalar>;
  const auto parts = split_exponent(x);
  const F factor = x.constant(C::log2_e);
  const F product = parts.f * factor;
  const F product_lost = fma(parts.f, x.constant(C::log2_e_lo), fma(parts.f, factor, -product));
  const auto bend = log_bend(parts.f);
  const auto sum = exact_sum(parts.k, product);
  const F low = fma(bend.hi + bend.lo, factor, sum.lo + product_lost);
  return log_or_special(x, sum.hi + low);
}

// 2^-k (1 + x.hi + x.lo) - 1 for the k of the rounded 1 + x.hi, which `parts` has: f from x 2^-k
// and 2^-k - 1, which lose nothing, and what f loses.
template <Number F>
Sum<F> scaled_rest(Sum<F> x, const LogParts<F>& parts) {
  using S = typename F::Scalar;
  const F one = x.hi.constant(1);
  const F shifted = parts.k + x.hi.constant(Format<S>::rounder);
  const F scale = power_of_two(x.hi, x.hi.int_constant(0) - rounded_integer(shifted));
  const F offset = scale - one;
  const F f = fma(x.hi, scale, offset);
  const F lost = fma(x.lo, scale, fma(x.hi, scale, offset - f));
  // Above 2^60 the scale may be subnormal, and the 1 no longer counts.
  const auto large = x.hi > x.hi.constant(S(0x1p60));
  return {select(large, parts.f, f), select(large, x.hi.constant(0), fma(-f, lost, lost))};
}

// log(2^more (1 + x.hi + x.lo)), x at least 0.
template <Number F>
F log1p_of(Sum<F> x, F more) {
  const F sum = x.hi.constant(1) + x.hi;
  const auto parts = split_exponent_of_normal(sum);
  const auto rest = scaled_rest(x, parts);
  return log_or_special(sum, log_from_parts(parts.k + more, rest.hi, rest.lo));
}

// log(1 + x). Where k is 0, f is x: a single number does not wait for the exponent.
// At most 0.86 / 0.84 ulp.
template <Number F>
F log1p(F x) {
  using S = typename F::Scalar;
  const F sum = x.constant(1) + x;
  const auto parts = split_exponent(sum);
  const auto rest = scaled_rest(Sum<F>{x, x.constant(0)}, parts);
  const F any = log_or_special(sum, log_from_parts(parts.k, rest.hi, rest.lo));
  const auto is_tiny = abs(x) < x.constant(Format<S>::tiny);
  if (!is_one_number(x)) return select(is_tiny, x, any);
  const auto bend = log_bend(x);
  const F near = x + (bend.hi + bend.lo);
  return choose(!(abs(x) < x.constant(S(0.29))), any, select(is_tiny, x, near));
}

// ---- Trigonometry ------------------------------------------------------------------------------

// a = j pi/2 + hi + lo, |hi| <= pi/4 and a little, for 0 <= a <= kTrigonometricBound.
template <Number F>
struct Quadrant {
  typename F::Int j;  // Only the two low bits count.
  Sum<F> angle;
};

// Cody and Waite 1980, with fused products: the first difference is exact.
template <Number F>
Quadrant<F> reduce_by_half_pi(F a) {
  using S = typename F::Scalar;
  using C = Coefficients<S>;
  const F rounder = a.constant(Format<S>::rounder);
  const F shifted = fma(a, a.constant(C::two_over_pi), rounder);
  const F j = shifted - rounder;
  const F second = a.constant(-C::half_pi_2);
  const F first = fma(j, a.constant(-C::half_pi_1), a);
  const F product = j * second;
  const F product_lost = fma(j, second, -product);
  // Either may be the larger one. The first is a multiple of an ulp of the product, which is below
  // 1: what their sum loses is exact.
  const auto sum = exact_sum(first, product);
  const F small = fma(j, a.constant(-C::half_pi_3), product_lost);
  return {bits(shifted), {sum.hi, sum.lo + small}};
}

// sin(angle), not yet added up: hi is the angle itself.
template <Number F>
Sum<F> small_sin(Sum<F> angle) {
  using S = typename F::Scalar;
  const F r = angle.hi;
  const F square = r * r;
  const F low = fma(square * r.constant(S(-0.5)), angle.lo, angle.lo);
  return {r, fma(square * r, polynomial(Coefficients<S>::sin, square), low)};
}

// cos(angle), not yet added up: hi is 1 - angle^2 / 2.
template <Number F>
Sum<F> small_cos(Sum<F> angle) {
  using S = typename F::Scalar;
  const F r = angle.hi;
  const F square = r * r;
  const F half = square * r.constant(S(0.5));
  const F hi = r.constant(1) - half;
  const F lost = (r.constant(1) - hi) - half;
  const F low = fma(-r, angle.lo, lost);
  return {hi, fma(square * square, polynomial(Coefficients<S>::cos, square), low)};
}

// y with its sign changed where bit 1 of `quadrant`, or the sign bit of `other`, is set.
template <Number F>
F flip_sign(F y, typename F::Int quadrant, typename F::Int other) {
  using S = typename F::Scalar;
  const auto sign = y.int_constant(bits_of(S(-0.0)));
  const auto bit = quadrant << (static_cast<int>(sizeof(S)) * 8 - 2);
  return float_from_bits(bits(y) ^ ((bit ^ other) & sign));
}

template <Number F>
typename F::Mask is_odd(const F& like, typename F::Int j) {
  return (j & like.int_constant(1)) == like.int_constant(1);
}

template <Number F>
F sin_in(F x, const Quadrant<F>& part) {
  const auto s = small_sin(part.angle);
  const auto c = small_cos(part.angle);
  const F y = select(is_odd(x, part.j), c.hi + c.lo, s.hi + s.lo);
  return flip_sign(y, part.j, bits(x));
}

template <Number F>
F cos_in(F x, const Quadrant<F>& part) {
  const auto s = small_sin(part.angle);
  const auto c = small_cos(part.angle);
  const F y = select(is_odd(x, part.j), s.hi + s.lo, c.hi + c.lo);
  return flip_sign(y, part.j + x.int_constant(1), x.int_constant(0));
}

// sin / cos, or -cos / sin, both with their low parts.
template <Number F>
F tan_in(F x, const Quadrant<F>& part) {
  const auto sin_parts = small_sin(part.angle);
  const auto cos_parts = small_cos(part.angle);
  const auto s = exact_sum(sin_parts.hi, sin_parts.lo);
  const auto c = exact_sum(cos_parts.hi, cos_parts.lo);
  const auto odd = is_odd(x, part.j);
  const Sum<F> above{select(odd, c.hi, s.hi), select(odd, c.lo, s.lo)};
  const Sum<F> below{select(odd, s.hi, c.hi), select(odd, s.lo, c.lo)};
  const auto ratio = divide(above, below);
  return flip_sign(ratio.hi + ratio.lo, part.j << 1, bits(x));
}

// function(x, where its angle is). A single number that is in the first quadrant does not wait for
// the reduction, which would leave it as it is: what a loop carries mostly stays there, or mostly
// does not.
template <Number F, class Function>
F by_quadrant(F x, const Function& function) {
  const F a = abs(x);
  const F y = function(x, reduce_by_half_pi(a));
  if (!is_one_number(x)) return y;
  return choose(!(a < x.constant(typename F::Scalar(0.785))), y,
                function(x, Quadrant<F>{a.int_constant(0), {a, a.constant(0)}}));
}

// For |x| <= kTrigonometricBound. At most 0.85 / 0.84, 0.82 / 0.80 and 1.04 / 1.04 ulp.
template <Number F>
F sin(F x) {
  return by_quadrant(x, [](F a, const Quadrant<F>& part) { return sin_in(a, part); });
}
template <Number F>
F cos(F x) {
  return by_quadrant(x, [](F a, const Quadrant<F>& part) { return cos_in(a, part); });
}
template <Number F>
F tan(F x) {
  return by_quadrant(x, [](F a, const Quadrant<F>& part) { return tan_in(a, part); });
}

constexpr double kTanOfEighthTurn = 0.41421356237309504880;  // tan(pi/8)

// base pi/4 + direction atan(above / below), the ratio at most kTanOfEighthTurn.
template <Number F>
F turned_angle(Sum<F> above, Sum<F> below, F base, F direction) {
  using C = Coefficients<typename F::Scalar>;
  const auto q = divide(above, below);
  const F square = q.hi * q.hi;
  const F low = fma(square * q.hi, polynomial(C::atan, square), q.lo);
  const auto angle = exact_sum(base * base.constant(C::quarter_pi_hi), direction * q.hi);
  return angle.hi + fma(direction, low, fma(base, base.constant(C::quarter_pi_lo), angle.lo));
}

// The angle of the point (x, y), in [-pi, pi]. The smaller of |x|, |y| over the larger; above
// tan(pi/8) turned back by pi/4; then a polynomial for atan.
// At most 0.86 / 0.81 ulp.
template <Number F>
F atan2(F y, F x) {
  using S = typename F::Scalar;
  using Fmt = Format<S>;
  const F zero = x.constant(0);
  const F one = x.constant(1);
  const F infinity = infinity_like(x);
  const F ax = abs(x);
  const F ay = abs(y);
  const auto steep = ay > ax;
  const F larger = select(steep, ay, ax);
  const F smaller = select(steep, ax, ay);

  // Infinite or zero: a ratio of 1 or 0. Otherwise near enough to 1 to add, divide and subtract.
  const auto endless = larger == infinity;
  const auto plain = !(endless | (larger == zero));
  const F scale = select(larger < one, x.constant(Fmt::ratio_up),
                         select(larger > x.constant(Fmt::ratio_large), x.constant(S(0x1p-8)), one));
  const F d = select(plain, larger * scale, one);
  const F n = select(plain, smaller * scale, select(endless & (smaller == infinity), one, zero));

  const auto turned = n > d * x.constant(S(kTanOfEighthTurn));
  const Sum<F> difference = exact_sum(-d, n), sum = exact_sum(d, n);

  // base counts quarters of pi; the angle of the ratio is added to it or taken from it.
  const auto left = copysign(one, x) < zero;
  const auto backward = (steep & !left) | (left & !steep);
  const F direction = select(backward, -one, one);
  const F quarters = select(steep, x.constant(2), select(left, x.constant(4), zero));
  const auto angle_of = [&](Sum<F> above, Sum<F> below, F inner) {
    return turned_angle(above, below, inner + quarters, direction);
  };
  // A single number takes one of the two ways.
  const F angle =
      is_one_number(x)
          ? choose(turned, angle_of(difference, sum, direction),
                   angle_of({n, zero}, {d, zero}, zero))
          : angle_of({select(turned, difference.hi, n), select(turned, difference.lo, zero)},
                     {select(turned, sum.hi, d), select(turned, sum.lo, zero)},
                     select(turned, direction, zero));
  const auto nan = (x != x) | (y != y);
  return select(nan, x + y, copysign(angle, y));
}

// ---- Error function ----------------------------------------------------------------------------

// erf of a >= 1, where it is not yet 1.
template <Number F>
F erf_of_large(F a) {
  using S = typename F::Scalar;
  using C = Coefficients<S>;
  const F one = a.constant(1);
  if constexpr (is_single<F>) {
    // By Horner's scheme, which rounds less than Estrin's where the terms are large.
    const F t = a - a.constant(2.46F), square = t * t;
    constexpr auto& c = C::erfc;
    F even = a.constant(c[c.size() - 2]), odd = a.constant(c[c.size() - 1]);
    for (std::size_t i = c.size() - 2; i > 0; i -= 2) {
      even = fma(even, square, a.constant(c[i - 2]));
      odd = fma(odd, square, a.constant(c[i - 1]));
    }
    return one - fma(odd, t, even);
  } else {
    // 1 - e^p(x) with a polynomial p for log(erfc(x)).
    const F t = a - one;
    const auto p =
        exact_sum(a.constant(C::erfc_log[0]), t * polynomial(without_first(C::erfc_log), t));
    const auto parts = reduce_by_ln2(p.hi, shifted_by_log2_e(p.hi));
    const F scale = power_of_two(a, parts.n);
    return fma(-scale, small_expm1(parts.r + p.lo), one - scale);
  }
}

// Odd polynomial up to 1.
// At most 1.08 / 1.09 ulp.
template <Number F>
F erf(F x) {
  using S = typename F::Scalar;
  const F one = x.constant(1);
  const F a = abs(x);
  const F small = fma(a, polynomial(Coefficients<S>::erf, a * a), a);
  const auto is_small = a < one;
  const auto outside = is_small | (a > x.constant(Format<S>::erf_one));
  return copysign(choose(!outside, erf_of_large(a), select(is_small, small, one)), x);
}

}  // namespace heddle::cpu
