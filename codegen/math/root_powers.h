// Powers whose exponent is a quarter, or a small whole or half number, as products and roots. The
// errors are those of f32 / f64 in ulp, measured as formulas.h tells.
#pragma once

#include <optional>

#include "heddle/codegen/math/formulas.h"

namespace heddle::cpu {

// x^0.5, which differs from sqrt(x) at -0 and -infinity. Rounded correctly.
template <Number F>
F half_power(F x) {
  const F infinity = infinity_like(x);
  return select(x == -infinity, infinity, abs(sqrt(x)));
}

// x^1.5: the product of x and its root, and what the root lost. At most 1.0 / 0.9 ulp.
template <Number F>
F three_halves_power(F x) {
  const F infinity = infinity_like(x);
  const F root = sqrt(x);
  const F lost = fma(-root, root, x);
  const F power = fma(x, root, root * x.constant(typename F::Scalar(0.5)) * lost);
  return select((x == -infinity) | (x * root == infinity), infinity, power);
}

template <class T>
inline constexpr T kRootPowers[] = {1,        2,  3,  T(0.5),  T(1.5), T(0.25),
                                    T(-0.25), -1, -2, T(-0.5), T(-1.5)};

// x^y where y is one of kRootPowers; nothing for other y. At most 1.9 / 0.9 ulp.
template <Number F>
std::optional<F> pow_by_roots(F x, typename F::Scalar y) {
  const F one = x.constant(1);
  if (y == 1) return x;
  if (y == 2) return x * x;
  if (y == 0.5) return half_power(x);
  if (y == 1.5) return three_halves_power(x);
  if (y == -1) return one / x;
  if constexpr (!is_single<F>) return std::nullopt;  // two roundings are more than pow() makes
  if (y == 3) return x * x * x;
  if (y == -2) return one / x / x;
  if (y == -0.5) return one / half_power(x);
  if (y == 0.25) return sqrt(half_power(x));
  if (y == -0.25) return sqrt(one / half_power(x));
  if (y == -1.5) {  // 1 / x may overflow
    const auto no_root = (x < x.constant(0)) & (x > -infinity_like(x));
    return select(no_root, nan_like(x), three_halves_power(one / x));
  }
  return std::nullopt;
}

}  // namespace heddle::cpu
