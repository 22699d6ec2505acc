#include "heddle/optim/optimizers.h"

#include <cmath>

#include "heddle/base/text/strings.h"
#include "heddle/optim/internal/ranges.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/reduction/reductions.h"

namespace heddle::optim_internal {
namespace {

using trace_internal::OnDeviceOf;
using trace_internal::refuse;

// 1 - decay^updates in `dtype`, without cancellation.
Tensor filled(double decay, const Tensor& updates, DType dtype) {
  return decay == 0 ? ones({}, dtype) : -expm1(updates.astype(dtype) * std::log(decay));
}

// Sums and roots of bf16 and f16 have f32's digits.
DType wide(DType dtype) { return dtype == f64 ? f64 : f32; }

Tensor mixed(double decay, const Tensor& old, const Tensor& fresh) {
  return decay * old + (1 - decay) * fresh;
}

// A decay of 1 would keep the first value for ever, and Adam would divide by 0.
void require_decays(double b1, double b2) {
  for (const auto& [name, value] : {std::pair("b1", b1), std::pair("b2", b2)})
    require(value >= 0 && value < 1, name, value, "0 or greater, and less than 1");
}

}  // namespace

void check(const optim::SgdOptions& o) { o.learning_rate.check(); }

void check(const optim::MomentumOptions& o) {
  o.learning_rate.check();
  require(o.decay >= 0 && o.decay <= 1, "decay", o.decay, "in 0 .. 1");
}

void check(const optim::AdamOptions& o) {
  o.learning_rate.check();
  require_decays(o.b1, o.b2);
  require_not_negative("eps", o.eps);
  require_not_negative("eps_root", o.eps_root);
  require_not_negative("weight_decay", o.weight_decay);
}

void require_no_decay(const optim::AdamOptions& options, SourceLocation at) {
  if (options.weight_decay == 0) return;
  const PublicCall call(optim::AdamOptions::kName, at);
  refuse("weight_decay is ", options.weight_decay,
         "; adam has none: write adamw, or, for torch's rule, add weight_decay * params to the "
         "gradients");
}

void check(const optim::LionOptions& o) {
  o.learning_rate.check();
  require_decays(o.b1, o.b2);
  require_not_negative("weight_decay", o.weight_decay);
}

// Squares of f16 underflow, so that a step would divide by 0 or by eps, which does too.
DType moment_type(DType param) { return param == f16 ? f32 : param; }

Leaves Update::check(std::string_view what, Leaves leaves, bool are_moments) const {
  if (leaves.size() != params_.size())
    refuse(what, " has ", leaves.size(), " leaves; params has ", params_.size(), ": params",
           base::join(paths_, ", params"), "; give a tree like params");
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Shape &have = leaves[i].shape(), &param = params_[i].shape();
    const Shape want(are_moments ? moment_type(param.dtype()) : param.dtype(), param.dimensions());
    if (!is_floating(param.dtype()))
      refuse("params", paths_[i], " is ", param,
             "; it must have a floating dtype: cast it, or keep ",
             "it out of what the optimizer updates");
    if (!same_type(have, want))
      refuse(what, paths_[i], " is ", have, "; it must be ", want,
             want.dtype() == param.dtype() ? ", as params" : ", beside the f16 of params",
             paths_[i], want.dtype() == param.dtype() ? " is" : "");
  }
  return leaves;
}

void Update::move(size_t i, const Tensor& step, const optim::Rate& rate, const Tensor& by) {
  Tensor& p = params_[i];
  p = p - rate.at(step, p.dtype()) * by.astype(p.dtype());
}

void Update::apply(const optim::SgdOptions& o, const Tensor& step, const Leaves& grads,
                   std::span<Leaves> /*moments*/) {
  for (size_t i = 0; i < params_.size(); ++i)
    params_[i] = params_[i] - o.learning_rate.at(step, params_[i].dtype()) * grads[i];
}

void Update::apply(const optim::MomentumOptions& o, const Tensor& step, const Leaves& grads,
                   std::span<Leaves> moments) {
  Leaves& velocity = moments[0];
  for (size_t i = 0; i < params_.size(); ++i) {
    const Tensor grad = grads[i].astype(velocity[i].dtype());
    velocity[i] = o.decay * velocity[i] + grad;
    const Tensor by = o.nesterov ? grad + o.decay * velocity[i] : velocity[i];
    move(i, step, o.learning_rate, by);
  }
}

void Update::apply(const optim::AdamOptions& o, const Tensor& step, const Leaves& grads,
                   std::span<Leaves> moments) {
  Leaves &mean = moments[0], &square = moments[1];
  const Tensor updates = step + 1;
  for (size_t i = 0; i < params_.size(); ++i) {
    const DType dtype = mean[i].dtype();
    const Tensor grad = grads[i].astype(dtype);
    mean[i] = mixed(o.b1, mean[i], grad);
    square[i] = mixed(o.b2, square[i], grad * grad);
    const Tensor first = mean[i] / filled(o.b1, updates, wide(dtype)).astype(dtype);
    const Tensor second = square[i] / filled(o.b2, updates, wide(dtype)).astype(dtype);
    Tensor by = first / (sqrt(second + o.eps_root) + o.eps);
    if (o.weight_decay != 0) by = by + o.weight_decay * params_[i].astype(dtype);
    move(i, step, o.learning_rate, by);
  }
}

void Update::apply(const optim::LionOptions& o, const Tensor& step, const Leaves& grads,
                   std::span<Leaves> moments) {
  Leaves& mean = moments[0];
  for (size_t i = 0; i < params_.size(); ++i) {
    const Tensor grad = grads[i].astype(mean[i].dtype());
    Tensor by = sign(mixed(o.b1, mean[i], grad));
    if (o.weight_decay != 0) by = by + o.weight_decay * params_[i].astype(mean[i].dtype());
    mean[i] = mixed(o.b2, mean[i], grad);
    move(i, step, o.learning_rate, by);
  }
}

Leaves moments_of(const Leaves& params) {
  Leaves out;
  for (const Tensor& p : params) out.push_back(zeros_like(p).astype(moment_type(p.dtype())));
  return out;
}

Tensor first_step(const Leaves& params) {
  const OnDeviceOf device{std::span(params)};
  return zeros({}, s32);
}
Tensor next_step(const Tensor& step) { return step + 1; }

Tensor norm_of(const Leaves& leaves) {
  const OnDeviceOf device{std::span(leaves)};
  DType dtype = f32;
  for (const Tensor& leaf : leaves) dtype = wide(leaf.dtype()) == f64 ? f64 : dtype;
  Tensor total = zeros({}, dtype);
  for (const Tensor& leaf : leaves) total = total + sum(square(abs(leaf).astype(dtype)));
  return sqrt(total);
}

Leaves clipped(const Leaves& leaves, double greatest_norm) {
  require(greatest_norm > 0, "greatest_norm", greatest_norm, "greater than 0");
  if (std::isinf(greatest_norm)) return leaves;
  const Tensor norm = norm_of(leaves);
  const Tensor factor = greatest_norm / maximum(norm, greatest_norm);
  Leaves out;
  for (const Tensor& leaf : leaves) out.push_back(leaf * factor.astype(leaf.dtype()));
  return out;
}

Leaves bounded(const Leaves& leaves, double bound) {
  require(bound > 0, "bound", bound, "greater than 0");
  Leaves out;
  for (const Tensor& leaf : leaves) out.push_back(minimum(maximum(leaf, -bound), bound));
  return out;
}

}  // namespace heddle::optim_internal
