#include "heddle/trace/ops/reduction/reductions.h"

#include <cmath>
#include <limits>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/internal/scalar_fragment.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/elementwise/extremes.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/run/known_program.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::axes_of;
using trace_internal::axis_of;
using trace_internal::checked;
using trace_internal::emit;
using trace_internal::emit_constant;
using trace_internal::Expr;
using trace_internal::extreme;
using trace_internal::known_program;
using trace_internal::KnownOptions;
using trace_internal::max_or_least;
using trace_internal::one_program;
using trace_internal::PublicCall;
using trace_internal::require_inexact;
using trace_internal::scalar_computation;
using trace_internal::wide_for_sums;

std::vector<int64_t> reduced_axes(const Shape& shape, const Reduction& over) {
  return axes_of(shape, over.axes.of_rank(shape.rank()));
}

Tensor restore_dims(const Tensor& reduced, const Shape& before, const std::vector<int64_t>& axes) {
  Dimensions shape = before.dimensions();
  for (int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  return reshape(reduced, shape);
}

Tensor reduce_by(std::string_view name, Opcode opcode, const Operand& operand, Literal identity,
                 const Reduction& over) {
  const PublicCall call(name, operand.at());
  Tensor x = as_tensor(operand);
  std::vector<int64_t> axes = reduced_axes(x.shape(), over);
  if (axes.empty() && x.rank() > 0) return x;
  const auto of = [&](std::span<const Tensor> xs) {
    return reduce_by(name, opcode, xs[0], identity, over);
  };
  if (Tensor made = known_program(name, KnownOptions(axes, bool{over.keep_dims}), {operand}, of);
      made.is_valid())
    return made;
  return one_program(name, [&] {
    Tensor out = emit({.opcode = Opcode::kReduce,
                       .operands = {x, emit_constant(std::move(identity))},
                       .attrs = hlo::DimensionsAttrs{.dimensions = axes},
                       .called = {scalar_computation(opcode, x.dtype())}});
    return over.keep_dims ? restore_dims(out, x.shape(), axes) : out;
  });
}

void require_real(const Operand& x) {
  if (!is_complex(as_tensor(x).dtype())) return;
  trace_internal::refuse("x is ", as_tensor(x).shape(),
                         "; complex numbers have no order, take abs(x) or real(x)");
}

void require_pred(const Operand& x) {
  if (as_tensor(x).dtype() == pred) return;
  trace_internal::refuse("x is ", as_tensor(x).shape(),
                         "; it must be pred, compare it with something");
}

int64_t reduced_count(const Operand& x, const Reduction& over) {
  const Tensor t = as_tensor(x);
  int64_t count = 1;
  for (int64_t axis : reduced_axes(t.shape(), over)) count *= t.shape().dimension(axis);
  return count;
}

// As numpy and jax.numpy: none of no elements is the greatest.
void require_elements(const Operand& x, const Reduction& over, std::string_view which) {
  const Tensor t = as_tensor(x);
  for (int64_t axis : reduced_axes(t.shape(), over)) {
    if (t.shape().dimension(axis) != 0) continue;
    trace_internal::refuse("axis ", axis, " of ", t.shape(), " has size 0; there is no ", which,
                           " of no elements, put the value that it shall be in front with "
                           "concat");
  }
}

// What is subtracted before exponentials: the maximum, or 0 where it is infinite, so that inf - inf
// never comes up.
Tensor safe_maximum(const Tensor& x, const Reduction& over) {
  Tensor top = max_or_least(x, {.axes = over.axes, .keep_dims = true});
  return where(is_finite(top), top, zeros_like(top));
}

Tensor arg_extreme(std::string_view name, Operand operand, int64_t axis, bool keep_dims,
                   bool greatest) {
  const PublicCall call(name, operand.at());
  Tensor x = as_tensor(operand);
  require_real(operand);
  int64_t along = axis_of(x.shape(), axis);
  if (x.shape().dimension(along) == 0)
    trace_internal::refuse("axis ", axis, " of ", x.shape(),
                           " has size 0; there is no position to give");
  const auto of = [&](std::span<const Tensor> xs) {
    return arg_extreme(name, xs[0], axis, keep_dims, greatest);
  };
  if (Tensor made = known_program(name, KnownOptions(along, keep_dims), {operand}, of);
      made.is_valid())
    return made;
  return one_program(name, [&] {
    Tensor position = iota(s32, x.shape().dimensions(), along);
    Tensor worst = emit_constant(extreme(x.dtype(), greatest));
    auto better = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
      const Expr a(t[0]), i(t[1]), b(t[2]), j(t[3]);
      Expr wins = greatest ? a > b : a < b;
      if (is_floating(a.dtype())) wins = wins | is_nan(a);
      Expr ties = is_floating(a.dtype()) ? (a == b) | (is_nan(a) & is_nan(b)) : a == b;
      // A NaN beats a number; among equals (two NaN too) the lower position stays.
      if (is_floating(a.dtype())) wins = wins & ~(is_nan(a) & is_nan(b));
      Expr keep = wins | (ties & (i < j));
      return {where(keep, a, b).tensor(), where(keep, i, j).tensor()};
    };
    std::vector<Tensor> out =
        reduce({x, position}, {worst, constant_like(INT32_MAX, s32)}, better, {along});
    return keep_dims ? restore_dims(out[1], x.shape(), {along}) : out[1];
  });
}

// As numpy has it: small integers would soon go around, and pred is counted.
Tensor widened(const Operand& x) {
  const Tensor t = as_tensor(x);
  const bool is_small = t.dtype() == pred || (is_integer(t.dtype()) && bit_width(t.dtype()) < 32);
  if (!is_small) return t;
  return t.astype(is_unsigned(t.dtype()) ? u32 : s32);
}

}  // namespace

Tensor sum(Operand x, const Reduction& over) {
  const PublicCall call("sum", x.at());
  const Tensor t = widened(x);
  return reduce_by("sum", Opcode::kAdd, t, Literal::scalar(t.dtype(), int64_t{0}), over);
}
Tensor prod(Operand x, const Reduction& over) {
  const PublicCall call("prod", x.at());
  const Tensor t = widened(x);
  return reduce_by("prod", Opcode::kMultiply, t, Literal::scalar(t.dtype(), int64_t{1}), over);
}

Tensor trace_internal::max_or_least(Operand x, const Reduction& over) {
  return reduce_by("max", Opcode::kMaximum, x, extreme(as_tensor(x).dtype(), true), over);
}

Tensor max(Operand x, const Reduction& over) {
  const PublicCall call("max", x.at());
  require_elements(x, over, "greatest");
  return max_or_least(x, over);
}
Tensor min(Operand x, const Reduction& over) {
  const PublicCall call("min", x.at());
  require_elements(x, over, "least");
  return reduce_by("min", Opcode::kMinimum, x, extreme(as_tensor(x).dtype(), false), over);
}
Tensor all(Operand x, const Reduction& over) {
  const PublicCall call("all", x.at());
  require_pred(x);
  return reduce_by("all", Opcode::kAnd, x, Literal::scalar(pred, int64_t{1}), over);
}
Tensor any(Operand x, const Reduction& over) {
  const PublicCall call("any", x.at());
  require_pred(x);
  return reduce_by("any", Opcode::kOr, x, Literal::scalar(pred, int64_t{0}), over);
}

Tensor mean(Operand x, const Reduction& over) {
  const PublicCall call("mean", x.at());
  require_inexact(x);
  double count = static_cast<double>(reduced_count(x, over));
  const auto of = [&](std::span<const Tensor> xs) { return mean(xs[0], over); };
  const KnownOptions options(reduced_axes(as_tensor(x).shape(), over), bool{over.keep_dims});
  if (Tensor made = known_program("mean", options, {x}, of); made.is_valid()) return made;
  return one_program("mean", [&] {
    const Tensor given = as_tensor(x), wide = wide_for_sums(given);
    return divide(sum(wide, over), count).astype(given.dtype());
  });
}

namespace {

Tensor variance_of(const Operand& x, const Reduction& over, double count) {
  Tensor centred = subtract(x, mean(x, {.axes = over.axes, .keep_dims = true}));
  Tensor squares = is_complex(centred.dtype()) ? square(abs(centred)) : square(centred);
  return divide(sum(squares, over), count);
}

// The variance, or its root, rounded to x's dtype once.
Tensor spread_of(std::string_view op, const Operand& x, const Reduction& given, int64_t ddof,
                 bool root) {
  const PublicCall call(op, x.at());
  require_inexact(x);
  const Reduction over = checked(x, given);
  const auto left = static_cast<double>(reduced_count(x, over) - ddof);
  const double count = left > 0 ? left : NAN;  // as jax.numpy; the quotient would be negative
  const auto of = [&](std::span<const Operand> in) {
    const Tensor given_x = as_tensor(in[0]), wide = wide_for_sums(given_x);
    Tensor out = variance_of(wide, over, count);
    if (root) out = sqrt(out);
    return wide.dtype() == given_x.dtype() ? out : out.astype(given_x.dtype());
  };
  const KnownOptions options(reduced_axes(as_tensor(x).shape(), over), over.keep_dims, ddof, root);
  return one_program(op, options, {x}, of);
}

}  // namespace

Tensor var(Operand x, const Reduction& over, base::Int ddof) {
  return spread_of("var", x, over, ddof, /*root=*/false);
}

Tensor std_dev(Operand x, const Reduction& over, base::Int ddof) {
  return spread_of("std_dev", x, over, ddof, /*root=*/true);
}

namespace {

void require_floats(const Operand& x) {
  require_inexact(x);
  require_real(x);
}

// What keeps exp() in range and is no part of the value: the derivative by it is zero, so nothing
// of it is computed or kept. As stop_gradient() writes it.
Tensor stopped(const Tensor& greatest) {
  return trace_internal::emit({.opcode = hlo::Opcode::kBitcastConvert,
                               .operands = {greatest},
                               .declared = greatest.shape()});
}

// What is built from x less its greatest element along an axis.
template <class Fn>
Tensor below_greatest(std::string_view op, const Operand& x, int64_t axis, Fn&& fn) {
  const PublicCall call(op, x.at());
  require_floats(x);
  const Tensor t = as_tensor(x);
  const int64_t along = axis_of(t.shape(), axis);
  const auto of = [&](std::span<const Tensor> xs) {
    const Expr value(xs[0]);
    const Reduction over{.axes = {along}, .keep_dims = true};
    return fn(value - Expr(stopped(max_or_least(value.operand(), over))), over).tensor();
  };
  if (Tensor made = known_program(op, KnownOptions(along), {x}, of); made.is_valid()) return made;
  return one_program(op, [&] { return of(std::span(&t, 1)); });
}

}  // namespace

Tensor logsumexp(Operand x, const Reduction& given) {
  const PublicCall call("logsumexp", x.at());
  require_floats(x);
  const Reduction over = checked(x, given);
  const auto formula = [&](std::span<const Operand> in) {
    Tensor t = as_tensor(in[0]);
    Tensor top = stopped(safe_maximum(t, over));
    Tensor total = log(sum(exp(subtract(t, top)), {.axes = over.axes, .keep_dims = true}));
    Tensor out = add(total, top);
    return over.keep_dims ? out : squeeze(out, reduced_axes(t.shape(), over));
  };
  const KnownOptions options(over.axes.list(), over.keep_dims);
  return one_program("logsumexp", options, {x}, formula);
}

Tensor softmax(Operand x, base::Int axis) {
  return below_greatest("softmax", x, axis, [](const Expr& v, const Reduction& over) {
    const Expr e = exp(v);
    return e / sum(e, over);
  });
}

Tensor log_softmax(Operand x, base::Int axis) {
  return below_greatest("log_softmax", x, axis, [](const Expr& v, const Reduction& over) {
    return v - log(sum(exp(v), over));
  });
}

Tensor argmax(Operand x, base::Int axis, base::Flag keep_dims) {
  return arg_extreme("argmax", x, axis, keep_dims, true);
}
Tensor argmin(Operand x, base::Int axis, base::Flag keep_dims) {
  return arg_extreme("argmin", x, axis, keep_dims, false);
}

namespace {

Tensor flat_extreme(std::string_view op, const Operand& x, bool greatest) {
  const PublicCall call(op, x.at());
  const auto of = [&](std::span<const Tensor> xs) {
    return arg_extreme(op, ravel(xs[0]), 0, /*keep_dims=*/false, greatest);
  };
  if (Tensor made = known_program(op, KnownOptions(), {x}, of); made.is_valid()) return made;
  return one_program(op, [&] { return of(std::vector<Tensor>{as_tensor(x)}); });
}

void require_init(const Tensor& x, const Tensor& init) {
  const Shape& of = trace_internal::node_of(x).shape;
  const Shape& start = trace_internal::node_of(init).shape;
  if (start.dtype() == of.dtype()) return;
  trace_internal::refuse("init is ", start, " and x ", of,
                         "; their dtypes must be equal, cast init with astype(", of.dtype(), ")");
}

}  // namespace

Tensor argmax(Operand x) { return flat_extreme("argmax", x, true); }
Tensor argmin(Operand x) { return flat_extreme("argmin", x, false); }

std::vector<Tensor> reduce(const std::vector<Tensor>& xs, const std::vector<Tensor>& inits,
                           ScalarFn fn, const base::Ints& axes, SourceLocation at) {
  const trace_internal::HigherOrderCall call("reduce", at);
  trace_internal::require_function("function", fn);
  if (xs.empty() || xs.size() != inits.size()) {
    trace_internal::refuse("has ", xs.size(), " operands and ", inits.size(),
                           " initial values; give one each, at least one");
  }
  for (size_t i = 0; i < xs.size(); ++i) require_init(xs[i], inits[i]);
  return trace_internal::in_program("reduce", [&] {
    std::vector<Shape> scalars;
    for (int round = 0; round < 2; ++round) {
      for (const Tensor& x : xs)
        scalars.push_back(Shape::scalar(trace_internal::node_of(x).shape.dtype()));
    }
    trace_internal::Fragment body = trace_internal::scalar_fragment("reduce", scalars, fn);
    trace_internal::require_results(*body, std::span(scalars).first(xs.size()));
    std::vector<Tensor> operands = xs;
    operands.insert(operands.end(), inits.begin(), inits.end());
    return trace_internal::emit_many(
        {.opcode = Opcode::kReduce,
         .operands = std::move(operands),
         .attrs = hlo::DimensionsAttrs{.dimensions = axes_of(xs[0].shape(), axes)},
         .called = {std::move(body)}});
  });
}

std::vector<Tensor> trace_internal::reduce_lists(const std::vector<Tensor>& xs,
                                                 const std::vector<Tensor>& inits, CombineFn fn,
                                                 const base::Ints& axes, SourceLocation at) {
  const trace_internal::HigherOrderCall call("reduce", at);
  trace_internal::require_function("function", fn);
  if (xs.size() > 1) {
    trace_internal::refuse("has ", xs.size(),
                           " operands and a function of two tensors; give one "
                           "of a span, (accumulators.., values..) -> accumulators");
  }
  const auto combine = [&](std::span<const Tensor> t) {
    return std::vector<Tensor>{fn(t[0], t[1])};
  };
  return reduce(xs, inits, ScalarFn(combine), axes);
}

std::vector<Tensor> reduce(const std::vector<Tensor>& xs, const std::vector<Tensor>& inits,
                           trace_internal::ByName<Operand, Operand> fn, const base::Ints& axes,
                           SourceLocation at) {
  return trace_internal::reduce_lists(xs, inits, fn, axes, at);
}

Tensor trace_internal::reduce_one(const Tensor& x, const Operand& init, CombineFn fn,
                                  const base::Ints& axes) {
  const trace_internal::HigherOrderCall call("reduce", init.at());
  require_function("function", fn);
  const Tensor start =
      init.is_tensor() ? init.tensor() : constant_like(init, node_of(x).shape.dtype());
  return reduce_lists({x}, {start}, fn, axes, init.at())[0];
}

}  // namespace heddle
