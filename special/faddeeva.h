// The error function of complex numbers. Names are those of jax.scipy.special.
#pragma once

#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::special {

// Faddeeva's function e^(-z^2) erfc(-i z), which is erfcx(y) at i y, of a complex z or a float: a
// complex number of z's precision (c64 of f16 and bf16 too). source: the trapezoidal and midpoint
// rules of M. Al Azah and S. Chandler-Wilde, SIAM J. Numer. Anal. 59 (2021), with 7 (f64: 12)
// points; i / (sqrt(pi) z) far out; DLMF 7.4.3 below the real axis. errors: throws Error
// (InvalidArgument) with z's type and the caller's line
Tensor wofz(Operand z);

}  // namespace heddle::special
