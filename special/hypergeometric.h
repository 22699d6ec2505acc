// Hypergeometric functions. Names are those of jax.scipy.special.
//
// Operands are floats of one dtype (f16, bf16, f32, f64; f16 and bf16 are computed in f32) that
// broadcast as numpy's do; the result has their dtype. They are accurate where all terms of the
// series have one sign; elsewhere digits cancel. docs/functions.md has the measured greatest
// errors. errors: all throw Error (InvalidArgument) with
// the op, the operand types and the caller's line
#pragma once

#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::special {

// Kummer's function 1F1, the sum of (a)_k x^k / ((b)_k k!), with one sign for a, b > 0 where x > 0
// and for b > a where x < 0. 1 for a = 0, e^x for a = b; infinite for other b = 0, -1, .. but where
// the sum ends before (a = 0, -1, .. and above b). source: the series DLMF 13.2.2, for x < 0 by
// 13.2.39; 13.7.1 below -150 (f64: -700). cost: a loop until all elements have converged, of at
// most 2000 steps; NaN where it takes more
Tensor hyp1f1(Operand a, Operand b, Operand x);

// Gauss's function 2F1, the sum of (a)_k (b)_k x^k / ((c)_k k!), continued to x < -1, with one sign
// for a, b, c > 0 where x > 0, and c >= a or b where x < 0. 1 for x, a or b = 0; infinite for x >
// 1, for c = 0, -1, .. and at x = 1 where c <= a + b, but where the sum ends before (a or b = 0,
// -1, .. and above c); NaN where it takes too many steps. source: the series DLMF 15.2.1 up to 1/2
// (for c > 10: 1 - 5 / c); from there on Taylor's series of solutions of 15.10.1, each halving the
// distance to 1, and at the end the leading terms of the solutions 15.10.13 and 15.10.14; 15.8.1
// for x < 0. cost: a loop of at most 4000 steps, then at most 28 (f64: 58) of at most 400, each as
// long as an element is not there
Tensor hyp2f1(Operand a, Operand b, Operand c, Operand x);

}  // namespace heddle::special
