#include "heddle/trace/reductions.h"

#include <cmath>
#include <limits>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/literal.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/creation.h"
#include "heddle/trace/dtypes.h"
#include "heddle/trace/elementwise.h"
#include "heddle/trace/error.h"
#include "heddle/trace/extremes.h"
#include "heddle/trace/located.h"
#include "heddle/trace/moved_from.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"
#include "heddle/trace/shaping.h"

namespace heddle {
namespace {

using hlo::Opcode;
using trace_internal::axes_of;
using trace_internal::axis_of;
using trace_internal::checked;
using trace_internal::emit;
using trace_internal::emit_constant;
using trace_internal::extreme;
using trace_internal::Located;
using trace_internal::max_or_least;
using trace_internal::one_program;
using trace_internal::PublicCall;
using trace_internal::require_inexact;
using trace_internal::scalar_computation;
using trace_internal::wide_for_sums;

std::vector<int64_t> reduced_axes(std::string_view op, const Shape& shape, const Reduction& over,
                                  SourceLocation at) {
  return axes_of(op, shape, over.axes.of_rank(shape.rank()), at);
}

Tensor restore_dims(const Tensor& reduced, const Shape& before, const std::vector<int64_t>& axes,
                    SourceLocation at) {
  Dimensions shape = before.dimensions();
  for (int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  return reshape({reduced, at}, shape);
}

Tensor reduce_by(std::string_view name, Opcode opcode, const Operand& operand, Literal identity,
                 const Reduction& over) {
  const PublicCall call(name, operand.at());
  Tensor x = as_tensor(operand);
  SourceLocation at = operand.at();
  std::vector<int64_t> axes = reduced_axes(name, x.shape(), over, at);
  if (axes.empty() && x.rank() > 0) return x;
  return one_program(name, at, [&] {
    Tensor out = emit({.opcode = Opcode::kReduce,
                       .operands = {x, emit_constant(std::move(identity), at)},
                       .attrs = hlo::DimensionsAttrs{.dimensions = axes},
                       .called = {scalar_computation(opcode, x.dtype())},
                       .at = at});
    return over.keep_dims ? restore_dims(out, x.shape(), axes, at) : out;
  });
}

void require_real(std::string_view op, const Operand& x) {
  if (!is_complex(as_tensor(x).dtype())) return;
  throw Error(
      trace_internal::invalid_argument(op, ": x is ", as_tensor(x).shape(),
                                       "; complex numbers have no order, take abs(x) or real(x)"),
      x.at());
}

void require_pred(std::string_view op, const Operand& x) {
  if (as_tensor(x).dtype() == pred) return;
  throw Error(trace_internal::invalid_argument(op, ": x is ", as_tensor(x).shape(),
                                               "; it must be pred, compare it with something"),
              x.at());
}

int64_t reduced_count(std::string_view op, const Operand& x, const Reduction& over) {
  const Tensor t = as_tensor(x);
  int64_t count = 1;
  for (int64_t axis : reduced_axes(op, t.shape(), over, x.at())) count *= t.shape().dimension(axis);
  return count;
}

// As numpy and jax.numpy: none of no elements is the greatest.
void require_elements(std::string_view op, const Operand& x, const Reduction& over,
                      std::string_view which) {
  const Tensor t = as_tensor(x);
  for (int64_t axis : reduced_axes(op, t.shape(), over, x.at())) {
    if (t.shape().dimension(axis) != 0) continue;
    throw Error(trace_internal::invalid_argument(
                    op, ": axis ", axis, " of ", t.shape(), " has size 0; there is no ", which,
                    " of no elements, put the value that it shall be in front with "
                    "concat"),
                x.at());
  }
}

// What is subtracted before exponentials: the maximum, or 0 where it is infinite, so that inf - inf
// never comes up.
Tensor safe_maximum(const Tensor& x, const Reduction& over, SourceLocation at) {
  Tensor top = max_or_least({x, at}, {.axes = over.axes, .keep_dims = true});
  return where({is_finite({top, at}), at}, {top, at}, {zeros_like({top, at}), at});
}

Tensor arg_extreme(std::string_view name, Operand operand, int64_t axis, bool keep_dims,
                   bool greatest) {
  const PublicCall call(name, operand.at());
  Tensor x = as_tensor(operand);
  SourceLocation at = operand.at();
  require_real(name, operand);
  int64_t along = axis_of(name, x.shape(), axis, at);
  if (x.shape().dimension(along) == 0)
    throw Error(trace_internal::invalid_argument(name, ": axis ", axis, " of ", x.shape(),
                                                 " has size 0; there is no position to give"),
                at);
  return one_program(name, at, [&] {
    Tensor position = iota(s32, x.shape().dimensions(), along, at);
    Tensor worst = emit_constant(extreme(x.dtype(), greatest), at);
    auto better = [&](std::span<const Tensor> t) -> std::vector<Tensor> {
      const Located a(t[0], at), i(t[1], at), b(t[2], at), j(t[3], at);
      Located wins = greatest ? a > b : a < b;
      if (is_floating(a.dtype())) wins = wins | is_nan(a);
      Located ties = is_floating(a.dtype()) ? (a == b) | (is_nan(a) & is_nan(b)) : a == b;
      // A NaN beats a number; among equals (two NaN too) the lower position stays.
      if (is_floating(a.dtype())) wins = wins & ~(is_nan(a) & is_nan(b));
      Located keep = wins | (ties & (i < j));
      return {where(keep, a, b).tensor(), where(keep, i, j).tensor()};
    };
    std::vector<Tensor> out =
        reduce({x, position}, {worst, constant_like({INT32_MAX, at}, s32)}, better, {along}, at);
    return keep_dims ? restore_dims(out[1], x.shape(), {along}, at) : out[1];
  });
}

}  // namespace

namespace {

// As numpy has it: small integers would soon go around, and pred is counted.
Tensor widened(const Operand& x) {
  const Tensor t = as_tensor(x);
  const bool is_small = t.dtype() == pred || (is_integer(t.dtype()) && bit_width(t.dtype()) < 32);
  if (!is_small) return t;
  return t.astype(is_unsigned(t.dtype()) ? u32 : s32, x.at());
}

}  // namespace

Tensor sum(Operand x, const Reduction& over) {
  const PublicCall call("sum", x.at());
  const Tensor t = widened(x);
  return reduce_by("sum", Opcode::kAdd, {t, x.at()}, Literal::scalar(t.dtype(), int64_t{0}), over);
}
Tensor prod(Operand x, const Reduction& over) {
  const PublicCall call("prod", x.at());
  const Tensor t = widened(x);
  return reduce_by("prod", Opcode::kMultiply, {t, x.at()}, Literal::scalar(t.dtype(), int64_t{1}),
                   over);
}

Tensor trace_internal::max_or_least(Operand x, const Reduction& over) {
  return reduce_by("max", Opcode::kMaximum, x, extreme(as_tensor(x).dtype(), true), over);
}

Tensor max(Operand x, const Reduction& over) {
  const PublicCall call("max", x.at());
  require_elements("max", x, over, "greatest");
  return max_or_least(x, over);
}
Tensor min(Operand x, const Reduction& over) {
  const PublicCall call("min", x.at());
  require_elements("min", x, over, "least");
  return reduce_by("min", Opcode::kMinimum, x, extreme(as_tensor(x).dtype(), false), over);
}
Tensor all(Operand x, const Reduction& over) {
  const PublicCall call("all", x.at());
  require_pred("all", x);
  return reduce_by("all", Opcode::kAnd, x, Literal::scalar(pred, int64_t{1}), over);
}
Tensor any(Operand x, const Reduction& over) {
  const PublicCall call("any", x.at());
  require_pred("any", x);
  return reduce_by("any", Opcode::kOr, x, Literal::scalar(pred, int64_t{0}), over);
}

Tensor mean(Operand x, const Reduction& over) {
  const PublicCall call("mean", x.at());
  require_inexact("mean", x);
  double count = static_cast<double>(reduced_count("mean", x, over));
  return one_program("mean", x.at(), [&] {
    const Tensor given = as_tensor(x), wide = wide_for_sums(given, x.at());
    return divide({sum({wide, x.at()}, over), x.at()}, {count, x.at()})
        .astype(given.dtype(), x.at());
  });
}

namespace {

Tensor variance_of(const Operand& x, const Reduction& over, double count) {
  SourceLocation at = x.at();
  Tensor centred = subtract(x, {mean(x, {.axes = over.axes, .keep_dims = true}), at});
  Tensor squares =
      is_complex(centred.dtype()) ? square({abs({centred, at}), at}) : square({centred, at});
  return divide({sum({squares, at}, over), at}, {count, at});
}

// The variance, or its root, rounded to x's dtype once.
Tensor spread_of(std::string_view op, const Operand& x, const Reduction& given, int64_t ddof,
                 bool root) {
  const PublicCall call(op, x.at());
  require_inexact(op, x);
  SourceLocation at = x.at();
  const Reduction over = checked(op, x, given);
  const auto left = static_cast<double>(reduced_count(op, x, over) - ddof);
  const double count = left > 0 ? left : NAN;  // as jax.numpy; the quotient would be negative
  return one_program(op, at, [&] {
    const Tensor given_x = as_tensor(x), wide = wide_for_sums(given_x, at);
    Tensor out = variance_of({wide, at}, over, count);
    if (root) out = sqrt({out, at});
    return wide.dtype() == given_x.dtype() ? out : out.astype(given_x.dtype(), at);
  });
}

}  // namespace

Tensor var(Operand x, const Reduction& over, base::Int ddof) {
  return spread_of("var", x, over, ddof, /*root=*/false);
}

Tensor std_dev(Operand x, const Reduction& over, base::Int ddof) {
  return spread_of("std_dev", x, over, ddof, /*root=*/true);
}

namespace {

void require_floats(std::string_view op, const Operand& x) {
  require_inexact(op, x);
  require_real(op, x);
}

// What is built from x less its greatest element along an axis.
template <class Fn>
Tensor below_greatest(std::string_view op, const Operand& x, int64_t axis, Fn&& fn) {
  const PublicCall call(op, x.at());
  require_floats(op, x);
  const Tensor t = as_tensor(x);
  const int64_t along = axis_of(op, t.shape(), axis, x.at());
  return one_program(op, x.at(), [&] {
    const Located value(t, x.at());
    const Reduction over{.axes = {along}, .keep_dims = true};
    return fn(value - value.with(max_or_least(value.operand(), over)), over).tensor();
  });
}

}  // namespace

Tensor logsumexp(Operand x, const Reduction& given) {
  const PublicCall call("logsumexp", x.at());
  require_floats("logsumexp", x);
  const Reduction over = checked("logsumexp", x, given);
  SourceLocation at = x.at();
  return one_program("logsumexp", at, [&] {
    Tensor t = as_tensor(x);
    Tensor top = safe_maximum(t, over, at);
    Tensor total = log(
        {sum({exp({subtract({t, at}, {top, at}), at}), at}, {.axes = over.axes, .keep_dims = true}),
         at});
    Tensor out = add({total, at}, {top, at});
    return over.keep_dims ? out
                          : squeeze({out, at}, reduced_axes("logsumexp", t.shape(), over, at));
  });
}

Tensor softmax(Operand x, base::Int axis) {
  return below_greatest("softmax", x, axis, [](const Located& v, const Reduction& over) {
    const Located e = exp(v);
    return e / sum(e, over);
  });
}

Tensor log_softmax(Operand x, base::Int axis) {
  return below_greatest("log_softmax", x, axis, [](const Located& v, const Reduction& over) {
    return v - log(sum(exp(v), over));
  });
}

Tensor argmax(Operand x, base::Int axis, bool keep_dims) {
  return arg_extreme("argmax", x, axis, keep_dims, true);
}
Tensor argmin(Operand x, base::Int axis, bool keep_dims) {
  return arg_extreme("argmin", x, axis, keep_dims, false);
}

namespace {

Tensor flat_extreme(std::string_view op, const Operand& x, bool greatest) {
  const PublicCall call(op, x.at());
  return one_program(op, x.at(), [&] {
    const Tensor flat = ravel(x);
    return arg_extreme(op, {flat, x.at()}, 0, /*keep_dims=*/false, greatest);
  });
}

void require_init(const Tensor& x, const Tensor& init, SourceLocation at) {
  const Shape& of = trace_internal::node_of(x, "reduce", at).shape;
  const Shape& start = trace_internal::node_of(init, "reduce", at).shape;
  if (start.dtype() == of.dtype()) return;
  throw Error(trace_internal::invalid_argument(
                  "reduce", ": init is ", start, " and x ", of,
                  "; their dtypes must be equal, cast init with astype(", of.dtype(), ")"),
              at);
}

}  // namespace

Tensor argmax(Operand x) { return flat_extreme("argmax", x, true); }
Tensor argmin(Operand x) { return flat_extreme("argmin", x, false); }

std::vector<Tensor> reduce(const std::vector<Tensor>& xs, const std::vector<Tensor>& inits,
                           ScalarFn fn, const std::vector<int64_t>& axes, SourceLocation at) {
  const PublicCall call("reduce", at, PublicCall::Runs::kUsersFunction);
  trace_internal::require_function("reduce", "function", fn, at);
  if (xs.empty() || xs.size() != inits.size()) {
    throw Error(trace_internal::invalid_argument("reduce", ": has ", xs.size(), " operands and ",
                                                 inits.size(),
                                                 " initial values; give one each, at least one"),
                at);
  }
  for (size_t i = 0; i < xs.size(); ++i) require_init(xs[i], inits[i], at);
  return trace_internal::in_program("reduce", at, [&] {
    std::vector<Shape> scalars;
    for (int round = 0; round < 2; ++round) {
      for (const Tensor& x : xs)
        scalars.push_back(Shape::scalar(trace_internal::node_of(x, "reduce", at).shape.dtype()));
    }
    trace_internal::Fragment body = trace_internal::scalar_fragment("reduce", scalars, fn, at);
    std::vector<Tensor> operands = xs;
    operands.insert(operands.end(), inits.begin(), inits.end());
    return trace_internal::emit_many(
        {.opcode = Opcode::kReduce,
         .operands = std::move(operands),
         .attrs = hlo::DimensionsAttrs{.dimensions = axes_of("reduce", xs[0].shape(), axes, at)},
         .called = {std::move(body)},
         .at = at});
  });
}

}  // namespace heddle
