// Attention.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <optional>

#include "heddle/base/flag.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::nn {

// Attention: softmax(query . key * scale + bias) . value, per head.
//   query [.., T, N, H], key [.., S, K, H], value [.., S, K, D] -> [.., T, N, D]
// N heads of queries share K heads of keys and values in groups of N / K, in order: K = N is
// multi-head, K = 1 multi-query attention. Scores and softmax are in f32 at least; the result has
// the operands' dtype. Scores that the mask or causality leaves out become -0.7 times the greatest
// value of their dtype, so that a query without any key takes the mean of all values.
// errors: also dtypes, batch axes, head sizes, and heads that do not divide
// source: jax.nn.dot_product_attention; Vaswani et al. 2017; Ainslie et al. 2023 (groups)
struct Attention {
  base::OnlyByName by_name = base::OnlyByName();  // {true} could be causal
  std::optional<double> scale = {};  // none: 1 / sqrt(H)
  base::Flag causal = false;         // query t sees keys 0 .. t
  Tensor mask = {};  // pred, broadcasts to [.., N, T, S]: true where a query sees a key
  Tensor bias = {};  // of floats, likewise; added to the scores
};
// softmax(query . key * scale + bias) . value, per head.
Tensor dot_product_attention(Operand query, Operand key, Operand value, const Attention& how = {});

}  // namespace heddle::nn
