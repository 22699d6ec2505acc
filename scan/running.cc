#include "heddle/scan/running.h"

#include "heddle/scan/associative.h"
#include "heddle/scan/loops.h"
#include "heddle/scan/searching.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/expr.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::axis_of;
using trace_internal::Expr;
using trace_internal::floating;
using trace_internal::one_program;
using trace_internal::PublicCall;

// dd moved by multiples of the period to the nearest one to 0; half a period stays of dd's sign.
Expr nearest(const Expr& dd, double period) {
  const double half = period / 2;
  Expr shifted = dd + half;
  Expr moved = Expr(mod(shifted.operand(), dd.like(period).operand())) - half;
  return where((moved == -half) & (dd > 0), half, moved);
}

struct Euclid {
  Tensor a, b;
  static constexpr auto kFields = fields(field("a", &Euclid::a), field("b", &Euclid::b));
};

Expr gcd_of(const Expr& x, const Expr& y) {
  auto unfinished = [&](const Euclid& s) { return any_of(Expr(s.b) != 0).tensor(); };
  auto step = [&](const Euclid& s) {
    Expr a = Expr(s.a), b = Expr(s.b);
    Expr open = b != 0;
    return Euclid{where(open, b, a).tensor(), where(open, a % where(open, b, 1), b).tensor()};
  };
  const Euclid start{abs(x).tensor(), abs(y).tensor()};
  return Expr(while_loop(unfinished, step, start).a);
}

// x with a number in place of NaN, which integers have none of.
Tensor with_identity(const Operand& operand, int64_t identity) {
  const Expr x(as_tensor(operand));
  if (!is_floating(x.dtype()) && !is_complex(x.dtype())) return x.tensor();
  return where(is_nan(x), identity, x).tensor();
}

// The integers broadcast to each other.
template <class Fn>
Tensor of_integers(std::string_view op, const Operand& left, const Operand& right, Fn&& fn) {
  const PublicCall call(op, left.at());
  return one_program(op, [&] {
    OperandPair pair = unify(left, right);
    if (!is_integer(pair.a.dtype()))
      trace_internal::refuse("operands are ", pair.a.shape(), "; they must be of integers");
    return fn(Expr(pair.a), Expr(pair.b)).tensor();
  });
}

}  // namespace

Tensor nan_cumsum(Operand operand, base::Int axis) {
  return one_program("nan_cumsum", operand.at(), [&] {
    const Tensor numbers = with_identity(operand, 0);
    return cumsum(numbers, axis);
  });
}

Tensor nan_cumprod(Operand operand, base::Int axis) {
  return one_program("nan_cumprod", operand.at(), [&] {
    const Tensor numbers = with_identity(operand, 1);
    return cumprod(numbers, axis);
  });
}

Tensor nancumsum(Operand x, base::Int axis) {
  const PublicCall call("nancumsum", x.at());
  return nan_cumsum(x, axis);
}
Tensor nancumprod(Operand x, base::Int axis) {
  const PublicCall call("nancumprod", x.at());
  return nan_cumprod(x, axis);
}

Tensor unwrap(Operand operand, const Unwrap& how) {
  const PublicCall call("unwrap", operand.at());
  Expr x = floating("x", operand);
  const int64_t along = axis_of(x.tensor().shape(), how.axis);
  if (!(how.period > 0)) trace_internal::refuse("period is ", how.period, "; it must be above 0");
  const int64_t n = x.tensor().dim(along);
  if (n < 2) return x.tensor();
  return one_program("unwrap", [&] {
    Expr rest = slice_in_dim(x.operand(), 1, n, 1, along);
    Expr dd = rest - Expr(slice_in_dim(x.operand(), 0, n - 1, 1, along));
    Expr stays = abs(dd) < how.jump.value_or(how.period / 2);
    Expr moves = where(stays, 0, nearest(dd, how.period) - dd);
    Expr moved = rest + Expr(cumsum(moves.operand(), along));
    Tensor first = slice_in_dim(x.operand(), 0, 1, 1, along);
    return concat({first, moved.tensor()}, along);
  });
}

Tensor repeat_each(Operand operand, Operand how_often, base::Int total, base::Int axis) {
  const PublicCall call("repeat_each", operand.at());
  Tensor x = as_tensor(operand), counts = as_tensor(how_often);
  const int64_t along = axis_of(x.shape(), axis), size = x.dim(along);
  if (counts.rank() != 1 || counts.size() != size || !is_integer(counts.dtype()))
    trace_internal::refuse("counts are ", counts.shape(), "; axis ", axis, " of x, ", x.shape(),
                           ", has size ", size, ", they must be a vector of as many integers");
  if (total < 0 || (size == 0 && total > 0))
    trace_internal::refuse("total is ", total, "; x is ", x.shape(),
                           ", it must be 0 or more, and 0 where there is nothing to repeat");
  return one_program("repeat_each", [&] {
    // Place p takes the element before whose end it lies: as many elements end at or before p.
    const Tensor ends = cumsum(counts.astype(s64));
    const Tensor places = iota(s64, {total}, 0);
    const Tensor source = searchsorted(ends, places, SearchSide::kRight);
    return take(x, source, along);
  });
}

Tensor gcd(Operand x, Operand y) { return of_integers("gcd", x, y, gcd_of); }

Tensor lcm(Operand x, Operand y) {
  return of_integers("lcm", x, y, [](const Expr& a, const Expr& b) {
    Expr common = gcd_of(a, b);
    return where(common == 0, 0, abs(a / where(common == 0, 1, common) * b));
  });
}

}  // namespace heddle
