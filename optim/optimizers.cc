#include "heddle/optim/optimizers.h"

#include <cmath>

#include "heddle/base/text/strings.h"
#include "heddle/optim/internal/ranges.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/reduction/reductions.h"
#include "heddle/trace/run/known_program.h"

namespace heddle::optim_internal {
namespace {

using trace_internal::FixedNumber;
using trace_internal::KnownOperand;
using trace_internal::KnownOptions;
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

void Update::apply(const char* name, const KnownOptions& options, const optim::Rate& rate,
                   const Tensor& step, const Leaves& grads, std::span<Leaves> moments,
                   Formula formula) {
  const auto of = [&](std::span<const Operand> operands) {
    Leaves values;
    for (const Operand& each : operands) values.push_back(each.tensor());
    return formula(values);
  };
  for (size_t i = 0; i < params_.size(); ++i) {
    std::vector<Operand> operands{params_[i], grads[i]};
    for (const Leaves& moment : moments) operands.emplace_back(moment[i]);
    const Tensor own_rate = rate.at(step, params_[i].dtype());
    operands.emplace_back(step);
    operands.emplace_back(own_rate);
    const std::vector<KnownOperand> known(operands.begin(), operands.end());
    Leaves next = trace_internal::in_program(name, options, known, of);
    for (size_t k = 0; k < moments.size(); ++k) moments[k][i] = std::move(next[k + 1]);
    params_[i] = std::move(next[0]);
  }
}

void Update::apply(const optim::SgdOptions& o, const Tensor& step, const Leaves& grads,
                   std::span<Leaves> moments) {
  apply(o.kName, KnownOptions(), o.learning_rate, step, grads, moments, [](const Leaves& x) {
    const auto &p = x[0], &grad = x[1], &rate = x[3];
    return Leaves{p - rate * grad};
  });
}

void Update::apply(const optim::MomentumOptions& o, const Tensor& step, const Leaves& grads,
                   std::span<Leaves> moments) {
  const KnownOptions options(FixedNumber{o.decay}, o.nesterov);
  apply(o.kName, options, o.learning_rate, step, grads, moments, [&](const Leaves& x) {
    const auto &p = x[0], &rate = x[4];
    const Tensor grad = x[1].astype(x[2].dtype());
    const Tensor velocity = o.decay * x[2] + grad;
    const Tensor by = o.nesterov ? grad + o.decay * velocity : velocity;
    return Leaves{p - rate * by.astype(p.dtype()), velocity};
  });
}

void Update::apply(const optim::AdamOptions& o, const Tensor& step, const Leaves& grads,
                   std::span<Leaves> moments) {
  const KnownOptions options(FixedNumber{o.b1}, FixedNumber{o.b2}, FixedNumber{o.eps},
                             FixedNumber{o.eps_root}, FixedNumber{o.weight_decay});
  apply(o.kName, options, o.learning_rate, step, grads, moments, [&](const Leaves& x) {
    const auto &p = x[0], &rate = x[5];
    const DType dtype = x[2].dtype();
    const Tensor grad = x[1].astype(dtype), updates = x[4] + 1;
    const Tensor mean = mixed(o.b1, x[2], grad);
    const Tensor square = mixed(o.b2, x[3], grad * grad);
    const Tensor first = mean / filled(o.b1, updates, wide(dtype)).astype(dtype);
    const Tensor second = square / filled(o.b2, updates, wide(dtype)).astype(dtype);
    Tensor by = first / (sqrt(second + o.eps_root) + o.eps);
    if (o.weight_decay != 0) by = by + o.weight_decay * p.astype(dtype);
    return Leaves{p - rate * by.astype(p.dtype()), mean, square};
  });
}

void Update::apply(const optim::LionOptions& o, const Tensor& step, const Leaves& grads,
                   std::span<Leaves> moments) {
  const KnownOptions options(FixedNumber{o.b1}, FixedNumber{o.b2}, FixedNumber{o.weight_decay});
  apply(o.kName, options, o.learning_rate, step, grads, moments, [&](const Leaves& x) {
    const auto &p = x[0], &rate = x[4];
    const DType dtype = x[2].dtype();
    const Tensor grad = x[1].astype(dtype);
    Tensor by = sign(mixed(o.b1, x[2], grad));
    if (o.weight_decay != 0) by = by + o.weight_decay * p.astype(dtype);
    return Leaves{p - rate * by.astype(p.dtype()), mixed(o.b2, x[2], grad)};
  });
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
  for (const Tensor& leaf : leaves) {
    total = trace_internal::one_program(
        "optim::global_norm", KnownOptions(dtype), {Operand(total), Operand(leaf)},
        [&](std::span<const Operand> x) {
          return x[0].tensor() + sum(square(abs(x[1].tensor()).astype(dtype)));
        });
  }
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
