// Losses, one for each example: take the mean of the result. Names are those of optax. Targets are
// repeated for predictions, or these for targets; f32[5,1] and f32[5] are an error, since either
// would be.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::nn {

// -sum(labels * log_softmax(logits)) over the last axis, for probabilities `labels` [.., C], which
// broadcast. Classes of label 0 take no part, so their logits may be -inf.
Tensor softmax_cross_entropy(Operand logits, Operand labels);
// logsumexp(logits) - logits[label], for integer labels [..] and logits [.., C]. A label outside
// 0 .. C - 1 gives NaN.
Tensor softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels);
// -labels * log(logistic(logits)) - (1 - labels) * log(1 - logistic(logits)), elementwise; the
// labels are numbers or floats of 0 .. 1. A term of weight 0 is 0, also where logits are infinite.
Tensor sigmoid_binary_cross_entropy(Operand logits, Operand labels);
// e * e / 2 up to |e| = delta, then linear, for the error e = predictions - targets, elementwise.
// source: Huber 1964
Tensor huber_loss(Operand predictions, Operand targets = 0, double delta = 1);
Tensor l2_loss(Operand predictions, Operand targets = 0);  // e * e / 2

}  // namespace heddle::nn
