// Counting: factorials, combinations, rising factorials. Names are those of jax.scipy.special.
//
// Operands are floats of one dtype (f16, bf16, f32, f64; f16 and bf16 are computed in f32) that
// broadcast as numpy's do; the result has their dtype. They need not be whole. errors: all throw
// Error (InvalidArgument) with the op, the operand types and the caller's line
#pragma once

#include <cstdint>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::special {

// n!, gamma(n + 1); 0 for n < 0.
Tensor factorial(Operand n);
// How many ways there are to choose k of n: whole where both are, 0 unless 0 <= k <= n.
Tensor comb(Operand n, Operand k);
// x (x + 1) .. (x + m - 1), gamma(x + m) / gamma(x). source: DLMF 5.2.5, 5.2.6
Tensor poch(Operand x, Operand m);
// log of the gamma function of d x d matrices, for x > (d - 1) / 2; NaN elsewhere. source: DLMF
// 35.3.1
Tensor multigammaln(Operand x, base::Int d);
// Bernoulli's numbers B_0 .. B_n, a constant [n + 1], with B_1 = -1/2. source: DLMF 24.15 up to
// B_18, from there on 25.6.2 by quotients of neighbours. errors: n < 0, and a dtype that is not of
// floats
Tensor bernoulli(base::Int n, DType dtype = f32, SourceLocation at = SourceLocation::here());

}  // namespace heddle::special
