// Products with logarithms that are defined where a factor is 0, entropies, and other functions of
// a few operations. Names are those of jax.scipy.special.
//
// x and y are floats (f16, bf16, f32, f64; f16 and bf16 are computed in f32), broadcast as numpy's
// do, and give a float of their dtype. errors: all throw Error (InvalidArgument) with the op, the
// operand types and the caller's line
#pragma once

#include "heddle/trace/operand.h"
#include "heddle/trace/ops/elementwise/elementwise.h"

namespace heddle::special {

Tensor xlogy(Operand x, Operand y);          // x log(y); 0 where x = 0 and y is no NaN
Tensor xlog1py(Operand x, Operand y);        // x log(1 + y); 0 where x = 0 and y is no NaN
Tensor entr(Operand x);                      // -x log(x); 0 at 0, -inf below
Tensor rel_entr(Operand p, Operand q);       // p log(p / q); 0 where p = 0 <= q; else inf
Tensor kl_div(Operand p, Operand q);         // rel_entr(p, q) - p + q
Tensor logit(Operand x);                     // log(x / (1 - x))
Tensor expit(Operand x);                     // 1 / (1 + exp(-x))
Tensor boxcox(Operand x, Operand lambda);    // (x^lambda - 1) / lambda; log(x) for lambda = 0
Tensor boxcox1p(Operand x, Operand lambda);  // the same of 1 + x
Tensor exprel(Operand x);                    // (exp(x) - 1) / x; 1 at 0
Tensor sinc(Operand x);                      // sin(pi x) / (pi x); 1 at 0

}  // namespace heddle::special
