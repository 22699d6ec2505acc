// The error function, its kin, and the normal distribution's. Names are those of jax.lax and
// jax.scipy.special.
//
// x is a float (f16, bf16, f32, f64; f16 and bf16 are computed in f32); the result has its shape
// and dtype. docs/functions.md has the measured greatest errors. errors: all throw Error
// (InvalidArgument) with the op, the operand's type and the caller's line
#pragma once

#include "heddle/trace/operand.h"
#include "heddle/trace/ops/elementwise/elementwise.h"

namespace heddle::special {

using heddle::erf;  // one HLO instruction

// 1 - erf(x), accurate where erf(x) is near 1, and exp(x^2) erfc(x), which does not underflow.
// source: S. Moshier, Cephes, ndtr.c (f64) and ndtrf.c (f32), but for |x| < 1, where it is erf's,
// and for exp(-x^2), whose square is taken in two parts
Tensor erfc(Operand x);
Tensor erfcx(Operand x);  // exp(x^2) erfc(x), which does not underflow
// y with erf(y) = x: infinite at -1 and 1, NaN outside. source: M. Giles, Approximating the erfinv
// function, GPU Computing Gems 2 (2011)
Tensor erf_inv(Operand x);

// Probability that a standard normal number is at most x, erfc(-x / sqrt(2)) / 2, and its
// logarithm, which does not underflow.
Tensor ndtr(Operand x);
Tensor log_ndtr(Operand x);  // The logarithm of ndtr(x), which does not underflow
// x with ndtr(x) = p: infinite at 0 and 1, NaN outside. source: S. Moshier, Cephes, ndtri.c
Tensor ndtri(Operand p);

}  // namespace heddle::special
