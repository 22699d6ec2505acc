#include "heddle/nn/losses.h"

#include <cmath>

#include "heddle/nn/activations.h"
#include "heddle/nn/internal/formula.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"

namespace heddle::nn {
namespace {

// weight * value, and 0 where the weight is 0, whatever the value is.
Expr weighted(const Expr& weight, const Expr& value) {
  return where(weight == 0, 0, weight * value);
}

// A target: a tensor as it is, a number in the dtype of the predictions. One of them may be
// repeated for the other. Where both would be, as f32[5,1] and f32[5], a loss is for each pair.
Expr target_of(std::string_view name, const Operand& target, std::string_view like_name,
               const Expr& like) {
  if (!target.is_tensor()) return constant_like(target, like.dtype());
  const Shape &x = like.tensor().shape(), &y = target.tensor().shape();
  const auto all = common_dimensions(x, y);
  if (all && *all != x.dimensions() && *all != y.dimensions()) {
    trace_internal::refuse(name, " are ", y, " and ", like_name, " ", x, "; a loss of [",
                           base::join(*all, ","),
                           "] would be of all pairs; reshape one to the sizes of the other");
  }
  return floating(name, target);
}

Expr log_sigmoid_of(const Expr& x) { return log_sigmoid(x.operand()); }

void require_classes(const Expr& logits) {
  if (logits.tensor().rank() > 0) return;
  trace_internal::refuse("logits are ", logits.tensor().shape(),
                         "; their last axis must be that of the classes");
}

// Integer labels of the shape that logits have without their last axis.
Expr checked_labels(const Operand& labels, const Expr& logits) {
  Expr checked(as_tensor(labels));
  const Shape& shape = checked.tensor().shape();
  Dimensions expected = logits.tensor().shape().dimensions();
  expected.pop_back();
  if (is_integer(shape.dtype()) && shape.dimensions() == expected) return checked;
  trace_internal::refuse("labels are ", shape, "; they must be integers of shape [",
                         base::join(expected, ","), "], as logits, ", logits.tensor().shape(),
                         ", without the classes");
}

}  // namespace

Tensor softmax_cross_entropy(Operand logits, Operand labels) {
  const PublicCall call("nn::softmax_cross_entropy", logits.at());
  constexpr std::string_view kOp = "nn::softmax_cross_entropy";
  Expr x = floating("logits", logits);
  Expr p = floating("labels", labels);
  require_classes(x);
  return formula(kOp, KnownOptions(), {x, p}, [](Values in) {
    Expr log_p(log_softmax(in[0].operand()));
    return -sum(weighted(in[1], log_p), {.axes = {-1}});
  });
}

Tensor softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels) {
  const PublicCall call("nn::softmax_cross_entropy_with_integer_labels", logits.at());
  constexpr std::string_view kOp = "nn::softmax_cross_entropy_with_integer_labels";
  Expr x = floating("logits", logits);
  require_classes(x);
  Expr label = checked_labels(labels, x);
  return formula(kOp, KnownOptions(), {x, label}, [](Values in) {
    const Expr &x = in[0], &label = in[1];
    // 8 bits may not hold every class.
    Expr index = bit_width(label.dtype()) < 32 ? label.astype(s32) : label;
    Expr column = expand_dims(index.operand(), -1);
    Expr chosen = Expr(iota(index.dtype(), x.dimensions(), -1)) == column;
    // It chooses by where, not by a product, since other logits may be infinite.
    Expr logit = sum(where(chosen, x, 0), {.axes = {-1}});
    Expr known = any(chosen.operand(), {.axes = {-1}});
    Expr total = logsumexp(x.operand(), {.axes = {-1}});
    return where(known, total - logit, NAN);
  });
}

Tensor sigmoid_binary_cross_entropy(Operand logits, Operand labels) {
  const PublicCall call("nn::sigmoid_binary_cross_entropy", logits.at());
  constexpr std::string_view kOp = "nn::sigmoid_binary_cross_entropy";
  Expr x = floating("logits", logits);
  Expr p = target_of("labels", labels, "logits", x);
  return formula(kOp, KnownOptions(), {x, p}, [](Values in) {
    const Expr &x = in[0], &p = in[1];
    return -weighted(p, log_sigmoid_of(x)) - weighted(1.0 - p, log_sigmoid_of(-x));
  });
}

Tensor huber_loss(Operand predictions, Operand targets, double delta) {
  const PublicCall call("nn::huber_loss", predictions.at());
  Expr x = floating("predictions", predictions);
  Expr y = target_of("targets", targets, "predictions", x);
  if (!(delta > 0)) trace_internal::refuse("delta is ", delta, "; it must be more than 0");
  return formula("nn::huber_loss", KnownOptions(FixedNumber{delta}), {x, y}, [&](Values in) {
    Expr size = abs(in[0] - in[1]);
    Expr quadratic = minimum(size, delta);
    return 0.5 * square(quadratic) + delta * (size - quadratic);
  });
}

Tensor l2_loss(Operand predictions, Operand targets) {
  const PublicCall call("nn::l2_loss", predictions.at());
  Expr x = floating("predictions", predictions);
  Expr y = target_of("targets", targets, "predictions", x);
  return formula("nn::l2_loss", KnownOptions(), {x, y},
                 [](Values in) { return 0.5 * square(in[0] - in[1]); });
}

}  // namespace heddle::nn
