// Modified Bessel functions of the first kind. Names are those of jax.lax and jax.scipy.special.
//
// x is a float (f16, bf16, f32, f64; f16 and bf16 are computed in f32); the result has its shape
// and dtype. source: S. Moshier, Cephes, i0.c, i1.c and their f32 forms: Chebyshev series in |x| /
// 2 - 2 up to 8 and in 32 / |x| - 2 beyond. docs/functions.md has the measured greatest errors.
// errors: all throw Error (InvalidArgument) with the op, the operand's type and the caller's line
#pragma once

#include <cstdint>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::special {

Tensor i0(Operand x);  // the function of order 0
Tensor i1(Operand x);  // the function of order 1
// exp(-|x|) i0(x) and exp(-|x|) i1(x), which do not overflow.
Tensor bessel_i0e(Operand x);
Tensor bessel_i1e(Operand x);  // exp(-|x|) i1(x), which does not overflow
// bessel_i0e, by its name in jax.scipy.special.
Tensor i0e(Operand x);
// bessel_i1e, by its name in jax.scipy.special.
Tensor i1e(Operand x);

// The window of n points i0(beta sqrt(1 - (2 i / (n - 1) - 1)^2)) / i0(beta), 1 in its middle, of
// jax.numpy. errors: also for n < 0, and a dtype that is not of floats
Tensor kaiser(base::Int n, double beta, DType dtype = f32,
              SourceLocation at = SourceLocation::here());

}  // namespace heddle::special
