#include "heddle/nn/activations.h"

#include <cmath>
#include <numbers>

#include "heddle/nn/internal/formula.h"
#include "heddle/special/normal.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/run/known_program.h"

namespace heddle::nn {
namespace {

using trace_internal::axis_of;
using trace_internal::FormulaId;
using trace_internal::known_program;

// An activation: a formula of one operand of floats.
Tensor activation(std::string_view op, const Operand& x, const KnownOptions& options,
                  base::FunctionRef<Expr(const Expr&)> fn) {
  const PublicCall call(op, x.at());
  const auto of = [&](std::span<const Tensor> xs) { return fn(floating("x", xs[0])).tensor(); };
  if (Tensor made = known_program(op, options, {x}, of); made.is_valid()) return made;
  Expr value = floating("x", x);
  return formula(op, [&] { return fn(value); });
}
Tensor activation(std::string_view op, const Operand& x, base::FunctionRef<Expr(const Expr&)> fn) {
  return activation(op, x, KnownOptions(FormulaId(fn.identity())), fn);
}

// It uses `where`, since maximum would share the slope at the bounds: for relu6 the slope is 0 at
// both, for hard_tanh 1. NaN stays.
Expr relu6_of(const Expr& x) { return where(x <= 0, 0, where(x >= 6, 6, x)); }

Expr hard_sigmoid_of(const Expr& x) { return relu6_of(x + 3) / 6; }

// The side that is not taken must not overflow: its derivative would be NaN.
Expr elu_of(const Expr& x, double alpha) {
  Expr positive = x > 0;
  return where(positive, x, alpha * expm1(where(positive, 0, x)));
}

// At 0 both parts have the slopes of x > 0.
Expr softplus_of(const Expr& x) { return where(x >= 0, x, 0) + log1p(exp(-abs(x))); }

Expr gelu_tanh(const Expr& x) {
  Expr inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * (x * square(x)));
  return x * (0.5 * (1.0 + tanh(inner)));
}

Expr gelu_exact(const Expr& x) {
  Expr wide = wide_of(x);
  Expr probability = special::ndtr(wide.operand());
  return (wide * probability).astype(x.dtype());
}

}  // namespace

Tensor relu(Operand x) {
  const PublicCall call("nn::relu", x.at());
  const Tensor t = as_tensor(x);
  if (t.dtype() == pred)
    trace_internal::refuse("x is ", t.shape(), "; it must be of numbers, cast it with astype(f32)");
  return formula("nn::relu", KnownOptions(), {Expr(t)},
                 [](Values in) { return where(in[0] <= 0, 0, in[0]); });
}

Tensor relu6(Operand x) {
  const PublicCall call("nn::relu6", x.at());
  return formula("nn::relu6", KnownOptions(), {Expr(as_tensor(x))},
                 [](Values in) { return relu6_of(in[0]); });
}

Tensor leaky_relu(Operand x, double slope) {
  return activation("nn::leaky_relu", x, KnownOptions(FixedNumber{slope}),
                    [&](const Expr& v) { return where(v >= 0, v, slope * v); });
}

Tensor elu(Operand x, double alpha) {
  return activation("nn::elu", x, KnownOptions(FixedNumber{alpha}),
                    [&](const Expr& v) { return elu_of(v, alpha); });
}

Tensor celu(Operand x, double alpha) {
  return activation("nn::celu", x, KnownOptions(FixedNumber{alpha}), [&](const Expr& v) {
    return maximum(v, 0) + alpha * expm1(minimum(v, 0) / alpha);
  });
}

Tensor selu(Operand x) {
  const PublicCall call("nn::selu", x.at());
  constexpr double kAlpha = 1.6732632423543772848;
  constexpr double kScale = 1.0507009873554804934;
  return activation("nn::selu", x, [](const Expr& v) { return kScale * elu_of(v, kAlpha); });
}

Tensor sigmoid(Operand x) {
  return activation("nn::sigmoid", x, [](const Expr& v) { return logistic(v); });
}

Tensor mish(Operand x) {
  return activation("nn::mish", x, [](const Expr& v) { return v * tanh(softplus_of(v)); });
}

// The side that is not taken must not overflow: its derivative would be NaN.
Tensor sparse_plus(Operand x) {
  return activation("nn::sparse_plus", x, [](const Expr& v) {
    Expr inside = maximum(minimum(v, 1), -1);
    return where(v <= -1, 0, where(v >= 1, v, square(inside + 1) / 4));
  });
}

Tensor squareplus(Operand x, double b) {
  return activation("nn::squareplus", x, KnownOptions(FixedNumber{b}),
                    [&](const Expr& v) { return (v + sqrt(square(v) + b)) / 2; });
}

Tensor sparse_sigmoid(Operand x) {
  return activation("nn::sparse_sigmoid", x,
                    [](const Expr& v) { return 0.5 * maximum(minimum(v + 1, 2), 0); });
}

Tensor silu(Operand x) {
  return activation("nn::silu", x, [](const Expr& v) { return v * logistic(v); });
}

Tensor softplus(Operand x) { return activation("nn::softplus", x, softplus_of); }

Tensor soft_sign(Operand x) {
  return activation("nn::soft_sign", x, [](const Expr& v) { return v / (abs(v) + 1); });
}

Tensor log_sigmoid(Operand x) {
  return activation("nn::log_sigmoid", x, [](const Expr& v) { return -softplus_of(-v); });
}

Tensor hard_tanh(Operand x) {
  return activation("nn::hard_tanh", x,
                    [](const Expr& v) { return where(v > 1, 1, where(v < -1, -1, v)); });
}

Tensor hard_sigmoid(Operand x) { return activation("nn::hard_sigmoid", x, hard_sigmoid_of); }

Tensor hard_silu(Operand x) {
  return activation("nn::hard_silu", x, [](const Expr& v) { return v * hard_sigmoid_of(v); });
}

Tensor swish(Operand x) {
  const PublicCall call("nn::swish", x.at());
  return silu(x);
}
Tensor hard_swish(Operand x) {
  const PublicCall call("nn::hard_swish", x.at());
  return hard_silu(x);
}

Tensor log1mexp(Operand x) {
  return activation("nn::log1mexp", x, [](const Expr& v) {
    // Each branch has numbers of its own side, so that the one not taken has a finite derivative.
    const auto is_small = v < std::numbers::ln2;
    const Expr small = where(is_small, v, std::numbers::ln2);
    const Expr large = where(is_small, std::numbers::ln2, v);
    return where(is_small, log(-expm1(-small)), log1p(-exp(-large)));
  });
}

Tensor logmeanexp(Operand x, const Reduction& over) {
  return activation("nn::logmeanexp", x, KnownOptions(FormulaId::kHasState), [&](const Expr& v) {
    const Tensor total = logsumexp(v.operand(), over);
    const int64_t places = total.size();
    const double count = static_cast<double>(v.tensor().size()) / static_cast<double>(places);
    return Expr(total) - (places == 0 ? 0.0 : std::log(count));
  });
}

Tensor gelu(Operand x, const Gelu& form) {
  return activation("nn::gelu", x, form.approximate ? gelu_tanh : gelu_exact);
}

Tensor glu(Operand x, base::Int axis) {
  const PublicCall call("nn::glu", x.at());
  Expr value = floating("x", x);
  const Shape& shape = value.tensor().shape();
  int64_t along = axis_of(shape, axis);
  int64_t size = shape.dimension(along);
  if (size % 2 != 0) {
    trace_internal::refuse("axis ", axis, " of x, ", shape, ", has size ", size,
                           "; it must be even, to be halved");
  }
  return formula("nn::glu", [&] {
    std::vector<Tensor> halves = split_at(value.operand(), {size / 2}, along);
    return Expr(halves[0]) * logistic(Expr(halves[1]));
  });
}

}  // namespace heddle::nn
