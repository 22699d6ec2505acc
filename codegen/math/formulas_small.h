// Formulas over an abstract number F (formulas.h) of f32, for what is rounded to 16 bits.
#pragma once

#include "heddle/codegen/math/formulas_core.h"

namespace heddle::cpu {

// tanh, to 2^-19 of itself: a quotient of polynomials in x^2, fitted up to 4.6, whose tanh is 1 to
// an f16.
template <Number F>
F tanh_of_small(F x) {
  const F most = x.constant(4.6F);
  F a = select(x > most, most, x);
  a = select(a < -most, -most, a);
  const F u = a * a;
  const F above =
      fma(fma(u, x.constant(0.0016852187F), x.constant(0.1172711F)), u, x.constant(0.9999989F));
  const F below = fma(
      fma(fma(u, x.constant(6.788750e-05F), x.constant(0.018563672F)), u, x.constant(0.4505951F)),
      u, x.constant(1));
  return a * above / below;
}

}  // namespace heddle::cpu
