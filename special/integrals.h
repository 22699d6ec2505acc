// Integrals of elementary functions: the dilogarithm, sine and cosine integrals, Fresnel's, the
// exponential integrals of any order, and Owen's T. Names are those of jax.scipy.special.
//
// Operands are floats of one dtype (f16, bf16, f32, f64; f16 and bf16 are computed in f32) that
// broadcast as numpy's do; the results have their dtype. docs/functions.md has the measured
// greatest errors. errors: all throw Error (InvalidArgument) with the op, the operand types and the
// caller's line
#pragma once

#include "heddle/base/containers/fields.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::special {

// The integral of log(t) / (1 - t) from 1 to x, the dilogarithm of 1 - x: NaN below 0, pi^2 / 6 at
// 0. source: the series in Bernoulli's numbers and -log(x), DLMF 25.12.3 and 24.2.1, from 1/2 to
// 2; the reflections DLMF 25.12.4 and 25.12.6 elsewhere
Tensor spence(Operand x);

struct SineCosineIntegrals {
  Tensor si;  // x's shape and dtype: of sin(t) / t, from 0 to x; odd
  Tensor ci;  // likewise: of cos(t) / t, from infinity to |x|: -inf at 0, NaN at -inf
  static constexpr auto kFields =
      fields(field("si", &SineCosineIntegrals::si), field("ci", &SineCosineIntegrals::ci));
};
// The sine and cosine integrals. source: the series DLMF 6.6.5 and 6.6.6 up to 2, beyond it the
// continued fraction DLMF 6.9.1, contracted, at i x. cost: a loop of 24 (f64: 100) steps
SineCosineIntegrals sici(Operand x);

struct FresnelIntegrals {
  Tensor s;  // x's shape and dtype: of sin(pi t^2 / 2), from 0 to x
  Tensor c;  // likewise: of cos(pi t^2 / 2), from 0 to x
  static constexpr auto kFields =
      fields(field("s", &FresnelIntegrals::s), field("c", &FresnelIntegrals::c));
};
// Fresnel's integrals, odd, +-1/2 at the infinities. source: the series DLMF 7.6.4 and 7.6.6 up to
// pi x^2 / 2 = 2.5, beyond it the fraction DLMF 8.9.2 of the incomplete gamma function, contracted;
// x^2 is taken modulo 4 before it is rounded. cost: a loop of 24 (f64: 100) steps
FresnelIntegrals fresnel(Operand x);

// x^(n-1) times the integral of e^-t / t^n from x on. n is a whole number of x's dtype, 0 or more,
// and x >= 0, else NaN; at x = 0 it is 1 / (n - 1), infinite for n < 2. source: the series DLMF
// 8.19.8 up to 1, beyond it the continued fraction DLMF 8.19.17, contracted. cost: loops of 20 and
// 30 (f64: 100) steps
Tensor expn(Operand n, Operand x);

// The probability of X > h, 0 < Y < a X of two independent standard normal numbers, for a > 0: even
// in h, odd in a. source: D. Owen, Annals of Math. Statistics 27 (1956), whose (2.1) is summed by
// Gauss's rule of 40 points for |a| <= 1, up to where the integrand is below e^-37 of its
// beginning; his (2.3) maps larger a there
Tensor owens_t(Operand h, Operand a);

}  // namespace heddle::special
