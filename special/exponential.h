// Exponential integrals and Dawson's integral. Names are those of jax.scipy.special.
//
// x is a float (f16, bf16, f32, f64; f16 and bf16 are computed in f32); the result has its shape
// and dtype. errors: all throw Error (InvalidArgument) with the op, the operand's type and the
// caller's line
#pragma once

#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::special {

// The integral of e^-t / t from x on: infinite at 0, NaN below. source: the series DLMF 6.6.2 up to
// 1, beyond it the continued fraction DLMF 6.9.1, contracted. cost: a loop of 30 (f64: 100) steps
Tensor exp1(Operand x);
// The principal value of the integral of e^t / t up to x: -exp1(-x) below 0, -inf at 0. source: the
// series DLMF 6.6.1 up to 40, beyond it the expansion DLMF 6.12.2. cost: a loop of 150 steps
Tensor expi(Operand x);
// e^-x^2 times the integral of e^t^2 from 0 to x. source: the series DLMF 7.6.3 up to 1/2, beyond
// it sampling by G. Rybicki, Computers in Physics 3 (1989), with steps of 1/4, whose error is e^-39
Tensor dawsn(Operand x);

}  // namespace heddle::special
