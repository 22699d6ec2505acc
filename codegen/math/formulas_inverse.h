// Inverse circular and hyperbolic functions over an abstract number F, as formulas.h has functions.
// Their arguments of a logarithm or an angle are sums of two numbers, so that they err as log1p and
// atan2 do. All need fused products.
#pragma once

#include "heddle/codegen/math/formulas.h"

namespace heddle::cpu {

// a b exactly.
template <Number F>
Sum<F> exact_product(F a, F b) {
  const F hi = a * b;
  return {hi, fma(a, b, -hi)};
}

// sqrt(x.hi + x.lo), of a finite sum.
template <Number F>
Sum<F> sqrt_of(Sum<F> x) {
  const F root = sqrt(x.hi);
  const F rest = fma(-root, root, x.hi) + x.lo;
  return {root, select(x.hi > x.hi.constant(0), rest / (root + root), x.hi.constant(0))};
}

// sqrt(1 - a^2) for 0 <= a <= 1.
template <Number F>
Sum<F> other_side(F a) {
  const Sum<F> square = exact_product(a, a);
  const Sum<F> rest = exact_sum(a.constant(1), -square.hi);
  return sqrt_of(Sum<F>{rest.hi, rest.lo - square.lo});
}

// The angle of the point (x, y), both at least 0; where `left` it is of (-x, y).
template <Number F>
F angle_of(Sum<F> y, Sum<F> x, typename F::Mask left) {
  using S = typename F::Scalar;
  const F zero = y.hi.constant(0), one = y.hi.constant(1);
  const auto pick = [](typename F::Mask mask, Sum<F> a, Sum<F> b) {
    return Sum<F>{select(mask, a.hi, b.hi), select(mask, a.lo, b.lo)};
  };
  const auto steep = y.hi > x.hi;
  const Sum<F> larger = pick(steep, y, x), smaller = pick(steep, x, y);
  const auto turned = smaller.hi > larger.hi * larger.hi.constant(S(kTanOfEighthTurn));
  const auto difference = exact_sum(-larger.hi, smaller.hi), sum = exact_sum(larger.hi, smaller.hi);
  const auto above =
      pick(turned, exact_sum(difference.hi, difference.lo + (smaller.lo - larger.lo)), smaller);
  const auto below = pick(turned, Sum<F>{sum.hi, sum.lo + (smaller.lo + larger.lo)}, larger);
  const F direction = select((steep & !left) | (left & !steep), -one, one);
  const F quarters = select(steep, y.hi.constant(2), select(left, y.hi.constant(4), zero));
  return turned_angle(above, below, select(turned, direction, zero) + quarters, direction);
}

// At most 0.89 / 0.79 and 0.88 / 0.79 ulp.
template <Number F>
F asin(F x) {
  const F a = abs(x);
  return copysign(angle_of({a, a.constant(0)}, other_side(a), a < a.constant(0)), x);
}
template <Number F>
F acos(F x) {
  const F a = abs(x);
  return angle_of(other_side(a), {a, a.constant(0)}, x < x.constant(0));
}

// The area functions' argument from which on x^2 + 1 and x^2 - 1 are x^2.
template <Number F>
typename F::Mask squares_alone(F a) {
  return a > a.constant(typename F::Scalar(is_single<F> ? 0x1p30 : 0x1p60));
}

// log(1 + a + sqrt(..) ..) where t says so, log(2 a) where `is_far`.
template <Number F>
F log1p_or_double(typename F::Mask is_far, F a, Sum<F> t) {
  const F zero = a.constant(0);
  return log1p_of({select(is_far, a, t.hi), select(is_far, zero, t.lo)},
                  select(is_far, a.constant(1), zero));
}

// log(1 + t), t = a + a^2 / (1 + sqrt(1 + a^2)).
// At most 0.87 / 0.86 ulp.
template <Number F>
F asinh(F x) {
  const F a = abs(x), one = x.constant(1);
  const auto is_far = squares_alone(a);
  const F b = select(is_far, one, a);
  const Sum<F> square = exact_product(b, b);
  const auto is_large = square.hi > one;
  const auto inner = exact_sum(select(is_large, square.hi, one), select(is_large, one, square.hi));
  const Sum<F> root = sqrt_of(Sum<F>{inner.hi, inner.lo + square.lo});
  const auto below = exact_sum(root.hi, one);
  const Sum<F> ratio = divide(square, Sum<F>{below.hi, below.lo + root.lo});
  const auto t = exact_sum(b, ratio.hi);
  return copysign(log1p_or_double(is_far, a, Sum<F>{t.hi, t.lo + ratio.lo}), x);
}

// log(1 + t), t = s + sqrt(s (2 + s)), s = x - 1.
// At most 0.86 / 0.86 ulp.
template <Number F>
F acosh(F x) {
  const F one = x.constant(1);
  const auto is_far = squares_alone(x);
  const F b = select(is_far, one, x);
  const auto s = exact_sum(b, -one);
  const F twice = s.hi + s.lo + x.constant(2);  // 1 + b, rounded
  const F twice_lost = s.lo + (s.hi - (twice - x.constant(2)));
  const Sum<F> product = exact_product(s.hi, twice);
  const F rest = fma(s.hi, twice_lost, fma(s.lo, twice, product.lo));
  const Sum<F> root = sqrt_of(Sum<F>{product.hi, rest});
  const auto larger_first = root.hi > s.hi;
  const auto t =
      exact_sum(select(larger_first, root.hi, s.hi), select(larger_first, s.hi, root.hi));
  const F y = log1p_or_double(is_far, x, Sum<F>{t.hi, t.lo + (root.lo + s.lo)});
  return select(x >= one, y, nan_like(x));
}

// log(1 + 2 a / (1 - a)) / 2.
// At most 0.86 / 0.86 ulp.
template <Number F>
F atanh(F x) {
  const F a = abs(x), one = x.constant(1), zero = x.constant(0);
  const auto below = exact_sum(one, -a);
  const Sum<F> ratio = divide(Sum<F>{a + a, zero}, below);
  const F inside = log1p_of(ratio, zero) * x.constant(0.5F);
  return copysign(select(a < one, inside, select(a == one, infinity_like(x), nan_like(x))), x);
}

}  // namespace heddle::cpu
