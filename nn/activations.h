// Activations. Names and formulas are those of jax.nn.
//
// All but glu and logmeanexp are elementwise and keep shape and dtype. They compute in that dtype;
// only exact gelu computes 16-bit floats in f32. If a function multiplies x by a gate that falls to
// 0 (silu, gelu, hard_silu), -inf gives NaN, as in jax.nn.
// errors: all but relu and relu6 throw Error (InvalidArgument) if x has no floats, with the op, the
// type of x and the caller's line
#pragma once

#include <cstdint>

#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/tensor.h"

namespace heddle::nn {

// jax.nn has these too; they are the functions outside nn.
using heddle::log_softmax;
using heddle::logsumexp;
using heddle::one_hot;
using heddle::softmax;
using heddle::tanh;

Tensor relu(Operand x);                             // max(x, 0); integers too
Tensor relu6(Operand x);                            // min(max(x, 0), 6); integers too
Tensor leaky_relu(Operand x, double slope = 0.01);  // x, below 0 slope * x
Tensor elu(Operand x, double alpha = 1);            // x, below 0 alpha * expm1(x)
Tensor celu(Operand x, double alpha = 1);           // x, below 0 alpha * expm1(x / alpha)
// elu scaled so that means 0 and variances 1 are kept. source: Klambauer et al. 2017
Tensor selu(Operand x);
Tensor sigmoid(Operand x);                   // 1 / (1 + exp(-x)); `logistic` outside nn
Tensor silu(Operand x);                      // x * sigmoid(x); also called swish
Tensor mish(Operand x);                      // x * tanh(softplus(x)). source: Misra 2019
Tensor softplus(Operand x);                  // log(1 + exp(x)), without overflow
Tensor sparse_plus(Operand x);               // 0 up to -1, x from 1, between them (x + 1)^2 / 4
Tensor squareplus(Operand x, double b = 4);  // (x + sqrt(x * x + b)) / 2. source: Barron 2021
Tensor soft_sign(Operand x);                 // x / (|x| + 1)
Tensor log_sigmoid(Operand x);               // log(sigmoid(x)), without overflow
Tensor sparse_sigmoid(Operand x);            // (x + 1) / 2, between 0 and 1
Tensor hard_tanh(Operand x);                 // x between -1 and 1
Tensor hard_sigmoid(Operand x);              // relu6(x + 3) / 6
Tensor hard_silu(Operand x);                 // x * relu6(x + 3) / 6
Tensor swish(Operand x);                     // silu
Tensor hard_swish(Operand x);                // hard_silu
// log(1 - exp(-x)) for x > 0, without cancellation. source: Maechler 2012
Tensor log1mexp(Operand x);

// x times the normal distribution's probability of less than x. By default approximated by
// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), within 5e-4; else exact, by erfc, so
// that the negative tail keeps its digits. source: Hendrycks, Gimpel 2016
struct Gelu {
  base::Flag approximate = true;
};
// x times the probability that a standard normal number is below x; approximated by tanh unless
// told.
Tensor gelu(Operand x, const Gelu& form = {});

// log(mean(exp(x))), without overflow; NaN over no elements.
Tensor logmeanexp(Operand x, const Reduction& over = {});
template <class Axis = trace_internal::BracedAxes, class Keep = bool>
Tensor logmeanexp(Operand x, Axis axis, Keep keep_dims = false) {
  return logmeanexp(x, trace_internal::over_axis(axis, keep_dims));
}

// a * logistic(b), where a and b are the halves of x along `axis`. errors: an axis of odd size
Tensor glu(Operand x, base::Int axis = -1);

}  // namespace heddle::nn
