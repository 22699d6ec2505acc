#include "heddle/nn/losses.h"

#include <cmath>

#include "heddle/nn/activations.h"
#include "heddle/nn/internal/formula.h"
#include "heddle/trace/creation.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/shaping.h"

namespace heddle::nn {
namespace {

using nn_internal::floating;
using nn_internal::formula;
using trace_internal::Located;
using trace_internal::PublicCall;

// weight * value, and 0 where the weight is 0, whatever the value is.
Located weighted(const Located& weight, const Located& value) {
  return where(weight == 0, 0, weight * value);
}

// A target: a tensor as it is, a number in the dtype of the predictions.
Located target_of(std::string_view op, std::string_view name, const Operand& target,
                  const Located& like) {
  if (target.is_tensor()) return floating(op, name, target);
  return {constant_like(target, like.dtype()), target.at()};
}

Located log_sigmoid_of(const Located& x) { return {log_sigmoid(x.operand()), x.at()}; }

void require_classes(std::string_view op, const Located& logits) {
  if (logits.tensor().rank() > 0) return;
  throw Error(trace_internal::invalid_argument(op, ": logits are ", logits.tensor().shape(),
                                               "; their last axis must be that of the classes"),
              logits.at());
}

// Integer labels of the shape that logits have without their last axis.
Located checked_labels(std::string_view op, const Operand& labels, const Located& logits) {
  Located checked(as_tensor(labels), labels.at());
  const Shape& shape = checked.tensor().shape();
  Dimensions expected = logits.tensor().shape().dimensions();
  expected.pop_back();
  if (is_integer(shape.dtype()) && shape.dimensions() == expected) return checked;
  throw Error(trace_internal::invalid_argument(op, ": labels are ", shape,
                                               "; they must be integers of shape [",
                                               base::join(expected, ","), "], as logits, ",
                                               logits.tensor().shape(), ", without the classes"),
              labels.at());
}

}  // namespace

Tensor softmax_cross_entropy(Operand logits, Operand labels) {
  const PublicCall call("nn::softmax_cross_entropy", logits.at());
  constexpr std::string_view kOp = "nn::softmax_cross_entropy";
  Located x = floating(kOp, "logits", logits);
  Located p = floating(kOp, "labels", labels);
  require_classes(kOp, x);
  return formula(kOp, logits.at(), [&] {
    Located log_p(log_softmax(x.operand()), x.at());
    return -sum(weighted(p, log_p), {.axes = {-1}});
  });
}

Tensor softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels) {
  const PublicCall call("nn::softmax_cross_entropy_with_integer_labels", logits.at());
  constexpr std::string_view kOp = "nn::softmax_cross_entropy_with_integer_labels";
  Located x = floating(kOp, "logits", logits);
  require_classes(kOp, x);
  Located label = checked_labels(kOp, labels, x);
  return formula(kOp, logits.at(), [&] {
    // 8 bits may not hold every class.
    Located index = bit_width(label.dtype()) < 32 ? label.astype(s32) : label;
    Located column = index.with(expand_dims(index.operand(), -1));
    Located chosen = x.with(iota(index.dtype(), x.dimensions(), -1, x.at())) == column;
    // Chosen by where, not by a product: other logits may be infinite.
    Located logit = sum(where(chosen, x, 0), {.axes = {-1}});
    Located known = x.with(any(chosen.operand(), {.axes = {-1}}));
    Located total = x.with(logsumexp(x.operand(), {.axes = {-1}}));
    return where(known, total - logit, NAN);
  });
}

Tensor sigmoid_binary_cross_entropy(Operand logits, Operand labels) {
  const PublicCall call("nn::sigmoid_binary_cross_entropy", logits.at());
  constexpr std::string_view kOp = "nn::sigmoid_binary_cross_entropy";
  Located x = floating(kOp, "logits", logits);
  Located p = target_of(kOp, "labels", labels, x);
  return formula(kOp, logits.at(), [&] {
    return -weighted(p, log_sigmoid_of(x)) - weighted(1.0 - p, log_sigmoid_of(-x));
  });
}

Tensor huber_loss(Operand predictions, Operand targets, double delta) {
  const PublicCall call("nn::huber_loss", predictions.at());
  Located x = floating("nn::huber_loss", "predictions", predictions);
  Located y = target_of("nn::huber_loss", "targets", targets, x);
  if (!(delta > 0))
    throw Error(trace_internal::invalid_argument("nn::huber_loss", ": delta is ", delta,
                                                 "; it must be more than 0"),
                predictions.at());
  return formula("nn::huber_loss", predictions.at(), [&] {
    Located size = abs(x - y);
    Located quadratic = minimum(size, delta);
    return 0.5 * square(quadratic) + delta * (size - quadratic);
  });
}

Tensor l2_loss(Operand predictions, Operand targets) {
  const PublicCall call("nn::l2_loss", predictions.at());
  Located x = floating("nn::l2_loss", "predictions", predictions);
  Located y = target_of("nn::l2_loss", "targets", targets, x);
  return formula("nn::l2_loss", predictions.at(), [&] { return 0.5 * square(x - y); });
}

}  // namespace heddle::nn
