// The pieces that the formulas of formulas.h share: polynomials, exponents, sums of two numbers.
//
// F is an abstract number, the concept Number. A constant is made from a value, x.constant(v),
// because a builder of code has to know where it goes.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "heddle/codegen/math/formulas_coefficients.h"

namespace heddle::cpu {

// What F offers. Scalar is float or double, Int a signed integer as wide that wraps around.
// select(mask, a, b) takes a where the mask is true. Comparisons with NaN are false, but for !=.
// Int needs no conversion to or from F, no product, no arithmetic shift and no order, and there
// is no min or max: old vector machines have none of these for 64 bits.
template <class F>
concept Number = requires(const F a, const typename F::Int i, const typename F::Mask m,
                          const typename F::Scalar v, std::int64_t n) {
  { a.constant(v) } -> std::same_as<F>;
  { a.int_constant(n) } -> std::same_as<typename F::Int>;
  { a + a } -> std::same_as<F>;
  { a - a } -> std::same_as<F>;
  { a* a } -> std::same_as<F>;
  { a / a } -> std::same_as<F>;
  { -a } -> std::same_as<F>;
  { fma(a, a, a) } -> std::same_as<F>;
  { sqrt(a) } -> std::same_as<F>;
  { abs(a) } -> std::same_as<F>;
  { floor(a) } -> std::same_as<F>;
  { copysign(a, a) } -> std::same_as<F>;
  { select(m, a, a) } -> std::same_as<F>;
  { a < a } -> std::same_as<typename F::Mask>;
  { a > a } -> std::same_as<typename F::Mask>;
  { a >= a } -> std::same_as<typename F::Mask>;
  { a == a } -> std::same_as<typename F::Mask>;
  { a != a } -> std::same_as<typename F::Mask>;
  { m& m } -> std::same_as<typename F::Mask>;
  { m | m } -> std::same_as<typename F::Mask>;
  { !m } -> std::same_as<typename F::Mask>;
  { bits(a) } -> std::same_as<typename F::Int>;
  { float_from_bits(i) } -> std::same_as<F>;
  { i + i } -> std::same_as<typename F::Int>;
  { i - i } -> std::same_as<typename F::Int>;
  { i& i } -> std::same_as<typename F::Int>;
  { i | i } -> std::same_as<typename F::Int>;
  { i ^ i } -> std::same_as<typename F::Int>;
  { i << 1 } -> std::same_as<typename F::Int>;
  { shift_right_logical(i, 1) } -> std::same_as<typename F::Int>;
  { i == i } -> std::same_as<typename F::Mask>;
};

// A Number of floats also has in_double(x, y, fn): fn of x and y as doubles, rounded to a float.

// select() of an x that takes long. A builder of code may leave it out where no lane takes it.
template <Number F>
F choose(typename F::Mask mask, F x, F y) {
  return select(mask, x, y);
}

// select() of an x that is hardly ever taken. A builder of code may leave it out where no lane
// takes it.
template <Number F>
F rarely(typename F::Mask mask, F x, F y) {
  return select(mask, x, y);
}

// Whether x is one number and no vector: choose() costs it no other lanes then.
template <Number F>
bool is_one_number(F) {
  return false;
}

// How a scalar type keeps its bits, and the numbers near which functions overflow or saturate.
template <class Scalar>
struct Format;

template <>
struct Format<float> {
  using Bits = std::int32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  // Adding it rounds to an integer, which then stands in the low bits.
  static constexpr float rounder = 0x1.8p23F;
  static constexpr float min_normal = 0x1p-126F;
  // Above it x rounds away in 1 + x and in x + x^2, below it neither.
  static constexpr float tiny = 0x1p-26F;
  static constexpr float exp_overflow = 89.0F;
  static constexpr float exp_underflow = -104.0F;
  static constexpr float exp_least_normal = -87.336545F;  // ln(min_normal)
  static constexpr float sinh_overflow = 89.5F;
  static constexpr float exp_negligible = 18.0F;  // e^-18 < ulp(1) / 4.
  static constexpr float tanh_one = 10.0F;        // From here on tanh rounds to 1.
  static constexpr float erf_one = 3.92F;         // From here on erf rounds to 1.
  static constexpr int subnormal_shift = 24;      // Brings any subnormal into range; 3 divides it.
  static constexpr float subnormal_scale = 0x1p24F;
  static constexpr float ratio_up = 0x1p64F;
  static constexpr float ratio_large = 0x1p120F;
};

template <>
struct Format<double> {
  using Bits = std::int64_t;
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr double rounder = 0x1.8p52;
  static constexpr double min_normal = 0x1p-1022;
  static constexpr double tiny = 0x1p-55;
  static constexpr double exp_overflow = 710.0;
  static constexpr double exp_underflow = -746.0;
  static constexpr double exp_least_normal = -708.396418532264106;
  static constexpr double sinh_overflow = 710.5;
  static constexpr double exp_negligible = 38.0;
  static constexpr double tanh_one = 20.0;
  static constexpr double erf_one = 6.0;
  static constexpr int subnormal_shift = 54;
  static constexpr double subnormal_scale = 0x1p54;
  static constexpr double ratio_up = 0x1p512;
  static constexpr double ratio_large = 0x1p1000;
};

// The bits of a scalar, as the integer that x.int_constant() takes.
template <class Scalar>
constexpr std::int64_t bits_of(Scalar value) {
  return std::bit_cast<typename Format<Scalar>::Bits>(value);
}

template <class F>
inline constexpr bool is_single = std::is_same_v<typename F::Scalar, float>;

template <class F>
F infinity_like(const F& x) {
  return x.constant(std::numeric_limits<typename F::Scalar>::infinity());
}

template <class F>
F nan_like(const F& x) {
  return x.constant(std::numeric_limits<typename F::Scalar>::quiet_NaN());
}

// ---- Polynomials -------------------------------------------------------------------------------

// Coefficients first .. first + count - 1, with powers[i] = x^(2^i).
template <std::size_t first, std::size_t count, class F, std::size_t terms, std::size_t levels>
F estrin_part(const std::array<typename F::Scalar, terms>& coefficients,
              const std::array<F, levels>& powers) {
  if constexpr (count == 1) {
    return powers[0].constant(coefficients[first]);
  } else if constexpr (count == 5 || count == 6) {  // as deep by squares alone
    return fma(fma(estrin_part<first + 4, count - 4>(coefficients, powers), powers[1],
                   estrin_part<first + 2, 2>(coefficients, powers)),
               powers[1], estrin_part<first, 2>(coefficients, powers));
  } else {
    constexpr std::size_t half = std::bit_floor(count - 1);
    return fma(estrin_part<first + half, count - half>(coefficients, powers),
               powers[std::bit_width(half) - 1], estrin_part<first, half>(coefficients, powers));
  }
}

// sum of coefficients[i] x^i by Estrin's scheme: about log2(terms) multiply-adds deep.
template <class F, std::size_t terms, class... Powers>
F polynomial(const std::array<typename F::Scalar, terms>& coefficients, F power, Powers... powers) {
  constexpr std::size_t levels = sizeof...(powers) + 1;
  constexpr bool needs_squares_alone = levels == 2 && terms <= 6;
  if constexpr ((std::size_t{1} << levels) < terms && !needs_squares_alone) {
    // Squares are passed last to first: the newest in front.
    return polynomial(coefficients, power * power, power, powers...);
  } else {
    const std::array<F, levels> newest_first{power, powers...};
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      const std::array<F, levels> rising{newest_first[levels - 1 - i]...};
      return estrin_part<0, terms>(coefficients, rising);
    }
    (std::make_index_sequence<levels>{});
  }
}

// The coefficients of (p(x) - p(0)) / x.
template <class Scalar, std::size_t terms>
constexpr std::array<Scalar, terms - 1> without_first(const std::array<Scalar, terms>& all) {
  std::array<Scalar, terms - 1> rest{};
  for (std::size_t i = 1; i < terms; ++i) rest[i - 1] = all[i];
  return rest;
}

// ---- Sums of two numbers -----------------------------------------------------------------------

// hi + lo, unevaluated.
template <class F>
struct Sum {
  F hi;
  F lo;
};

// a + b exactly, for |a| >= |b| or a = 0 (Dekker 1971).
template <class F>
Sum<F> exact_sum(F a, F b) {
  const F hi = a + b;
  return {hi, b - (hi - a)};
}

// (n.hi + n.lo) / (d.hi + d.lo) to about twice the precision, with one division.
// Each sum must be normalized: lo at most an ulp or so of hi.
template <class F>
Sum<F> divide(Sum<F> n, Sum<F> d) {
  const F inverse = d.hi.constant(1) / d.hi;
  const F quotient = n.hi * inverse;
  const F rest = fma(-quotient, d.hi, n.hi) + fma(-quotient, d.lo, n.lo);
  return {quotient, rest * inverse};
}

// ---- Exponents ---------------------------------------------------------------------------------

// The integer that adding Format::rounder left in the low bits of `shifted`.
template <class F>
typename F::Int rounded_integer(F shifted) {
  return bits(shifted) - shifted.int_constant(bits_of(Format<typename F::Scalar>::rounder));
}

// A small integer (0 <= i < 2^20) as a number, without a conversion instruction.
template <class F>
F small_to_float(const F& like, typename F::Int i) {
  constexpr auto rounder = Format<typename F::Scalar>::rounder;
  return float_from_bits(i + like.int_constant(bits_of(rounder))) - like.constant(rounder);
}

// 2^n, for a normal result.
template <class F>
F power_of_two(const F& like, typename F::Int n) {
  using Fmt = Format<typename F::Scalar>;
  return float_from_bits((n + like.int_constant(Fmt::bias)) << Fmt::mantissa_bits);
}

// Two factors whose product is 2^n, for |n| < 2 * bias. Multiplied one after the other they let
// a result overflow or become subnormal with one rounding. Of `biased`, n + 2 * bias, the bits of
// an exponent and a few more count.
template <class Int>
auto biased_factors(Int biased) {
  using F = decltype(float_from_bits(biased));
  constexpr int mantissa_bits = Format<typename F::Scalar>::mantissa_bits;
  const auto half = shift_right_logical(biased, 1);
  return Sum<F>{float_from_bits(half << mantissa_bits),
                float_from_bits((biased - half) << mantissa_bits)};
}
template <class F>
Sum<F> power_of_two_factors(const F& like, typename F::Int n) {
  return biased_factors(n + like.int_constant(2 * Format<typename F::Scalar>::bias));
}

// x = n ln(2) + r + lost, |r| <= ln(2)/2, where lost is the rounding error of r.
template <class F>
struct ExpParts {
  typename F::Int n;
  F r;
  F lost;
};

// Splits x by Cody and Waite. `shifted` is x / ln(2) + rounder: a caller that knows it early
// shortens the wait.
template <class F>
ExpParts<F> reduce_by_ln2(F x, F shifted) {
  using C = Coefficients<typename F::Scalar>;
  const F n = shifted - x.constant(Format<typename F::Scalar>::rounder);
  const F high = fma(n, x.constant(-C::ln2_hi), x);
  const F r = fma(n, x.constant(-C::ln2_lo), high);
  return {rounded_integer(shifted), r, fma(n, x.constant(-C::ln2_lo), high - r)};
}

// e^r - 1 for |r| <= ln(2)/2.
template <class F>
F small_expm1(F r) {
  return fma(r * r, polynomial(Coefficients<typename F::Scalar>::exp, r), r);
}

template <class F>
F shifted_by_log2_e(F x) {
  using S = typename F::Scalar;
  return fma(x, x.constant(Coefficients<S>::log2_e), x.constant(Format<S>::rounder));
}

// a = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), for positive finite a, subnormals too.
template <class F>
struct LogParts {
  F k;
  F f;
};

// From the bits i of a normal number, a 2^shift; `biased_rounder` is rounder + bias + shift.
template <class F>
LogParts<F> split_bits(typename F::Int i, F biased_rounder) {
  using S = typename F::Scalar;
  using Fmt = Format<S>;
  const auto whole = [&](std::int64_t value) { return biased_rounder.int_constant(value); };
  constexpr auto root = bits_of(S(0.70710678118654752440));
  constexpr auto mantissa = (std::int64_t{1} << Fmt::mantissa_bits) - 1;
  const auto above_root = i + whole(bits_of(S(1)) - root);
  const auto biased = shift_right_logical(above_root, Fmt::mantissa_bits);
  return {
      float_from_bits(biased + whole(bits_of(Fmt::rounder))) - biased_rounder,
      float_from_bits((above_root & whole(mantissa)) + whole(root)) - biased_rounder.constant(1)};
}

template <class F>
LogParts<F> split_exponent_of_normal(F a) {
  using Fmt = Format<typename F::Scalar>;
  return split_bits(bits(a), a.constant(Fmt::rounder + Fmt::bias));
}

template <class F>
LogParts<F> split_exponent(F a) {
  using Fmt = Format<typename F::Scalar>;
  const auto subnormal = a < a.constant(Fmt::min_normal);
  return split_bits(bits(select(subnormal, a * a.constant(Fmt::subnormal_scale), a)),
                    select(subnormal, a.constant(Fmt::rounder + Fmt::bias + Fmt::subnormal_shift),
                           a.constant(Fmt::rounder + Fmt::bias)));
}

}  // namespace heddle::cpu
