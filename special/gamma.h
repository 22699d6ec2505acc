// The gamma function's family, the incomplete gamma and beta functions, and zeta. Names are those
// of jax.lax and jax.scipy.special.
//
// Operands are floats of one dtype (f16, bf16, f32, f64; f16 and bf16 are computed in f32) that
// broadcast as numpy's do; the result has their dtype. docs/functions.md has the measured greatest
// errors. errors: all throw Error (InvalidArgument) with the op, the operand types and the caller's
// line
#pragma once

#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::special {

// log |gamma(x)|, infinite at 0, -1, ...; the sign of gamma(x), NaN at -1, -2, ... and that of the
// zero at 0; gamma(x). source: C. Lanczos, SIAM J. Numer. Anal. B 1 (1964), with g = 7 and 9 terms;
// below 1/2 the reflection formula, DLMF 5.5.3
Tensor lgamma(Operand x);
Tensor gammasgn(Operand x);  // The sign of gamma(x), NaN at -1, -2, ... and that of the zero at 0
Tensor gamma(Operand x);     // gamma(x)
Tensor gammaln(Operand x);   // lgamma, by its name in jax.scipy.special
// log |beta(a, b)| = lgamma(a) + lgamma(b) - lgamma(a + b), for positive operands by Lanczos's
// approximation of all three, so that their digits do not cancel.
Tensor betaln(Operand a, Operand b);

// The derivative of log(gamma(x)): NaN at 0, -1, ...  source: as lgamma's; DLMF 5.5.4
Tensor digamma(Operand x);
// The n-th derivative of digamma: n is a whole number of x's dtype, 0 or more, else NaN.
// source: DLMF 5.15.1, by zeta
Tensor polygamma(Operand n, Operand x);
// Hurwitz's zeta, sum (q + k)^-x over k = 0, 1, ..: infinite at x = 1, NaN for x < 1.
// source: Euler-Maclaurin summation, DLMF 25.11.28 (9 terms, 12 corrections), as in Cephes, zeta.c
Tensor zeta(Operand x, Operand q);

// The regularised incomplete gamma function P(a, x) = integral of t^(a-1) e^-t from 0 to x, over
// gamma(a), and Q = 1 - P. NaN for a < 0 or x < 0. source: the series DLMF 8.11.4 and the continued
// fraction DLMF 8.9.2, as in Cephes, igam.c; Q of small x by DLMF 8.7.1. cost: loops until all
// elements have converged
Tensor igamma(Operand a, Operand x);
// The complement of igamma, Q(a, x) = 1 - P(a, x), accurate where P is near 1.
Tensor igammac(Operand a, Operand x);
// igamma, by its name in jax.scipy.special.
Tensor gammainc(Operand a, Operand x);
// igammac, by its name in jax.scipy.special.
Tensor gammaincc(Operand a, Operand x);
// dP/da, and dx/da of a gamma(a) random number x whose quantile is held: -(dP/da) / (dP/dx).
// source: term by term, the same expansions; M. Figurnov et al., Implicit Reparameterization
// Gradients (2018)
Tensor igamma_grad_a(Operand a, Operand x);
// dx/da of a gamma(a) random number x whose quantile stays: -(dP/da) / (dP/dx).
Tensor random_gamma_grad(Operand a, Operand x);

// The regularised incomplete beta function I_x(a, b); NaN outside a, b >= 0, 0 <= x <= 1.
// source: A. DiDonato and A. Morris, ACM TOMS 18 (1992), section 7: a continued fraction, by
// Lentz's method, with the symmetry DLMF 8.17.4.
// cost: a loop until all elements have converged, of at most 200 (f64: 600) steps
Tensor betainc(Operand a, Operand b, Operand x);

}  // namespace heddle::special
