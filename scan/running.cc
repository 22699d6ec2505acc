#include "heddle/scan/running.h"

#include "heddle/scan/associative.h"
#include "heddle/scan/loops.h"
#include "heddle/scan/searching.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/indexing.h"
#include "heddle/trace/located.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

using trace_internal::axis_of;
using trace_internal::floating;
using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;

// dd moved by multiples of the period to the nearest one to 0; half a period stays of dd's sign.
Located nearest(const Located& dd, double period) {
  const double half = period / 2;
  Located shifted = dd + half;
  Located moved = dd.with(mod(shifted.operand(), dd.like(period).operand())) - half;
  return where((moved == -half) & (dd > 0), half, moved);
}

struct Euclid {
  Tensor a, b;
  static constexpr auto kFields = fields(field("a", &Euclid::a), field("b", &Euclid::b));
};

Located gcd_of(const Located& x, const Located& y) {
  auto unfinished = [&](const Euclid& s) { return any_of(x.with(s.b) != 0).tensor(); };
  auto step = [&](const Euclid& s) {
    Located a = x.with(s.a), b = x.with(s.b);
    Located open = b != 0;
    return Euclid{where(open, b, a).tensor(), where(open, a % where(open, b, 1), b).tensor()};
  };
  const Euclid start{abs(x).tensor(), abs(y).tensor()};
  return x.with(while_loop(unfinished, step, start, x.at()).a);
}

// x with a number in place of NaN, which integers have none of.
Tensor with_identity(const Operand& operand, int64_t identity) {
  const Located x(as_tensor(operand), operand.at());
  if (!is_floating(x.dtype()) && !is_complex(x.dtype())) return x.tensor();
  return where(is_nan(x), identity, x).tensor();
}

// The integers broadcast to each other.
template <class Fn>
Tensor of_integers(std::string_view op, const Operand& left, const Operand& right, Fn&& fn) {
  const PublicCall call(op, left.at());
  SourceLocation at = left.at();
  return one_program(op, at, [&] {
    OperandPair pair = unify(left, right);
    if (!is_integer(pair.a.dtype()))
      throw Error(trace_internal::invalid_argument(op, ": operands are ", pair.a.shape(),
                                                   "; they must be of integers"),
                  at);
    return fn(Located(pair.a, at), Located(pair.b, at)).tensor();
  });
}

}  // namespace

Tensor nan_cumsum(Operand operand, base::Int axis) {
  return one_program("nan_cumsum", operand.at(), [&] {
    const Tensor numbers = with_identity(operand, 0);
    return cumsum({numbers, operand.at()}, axis);
  });
}

Tensor nan_cumprod(Operand operand, base::Int axis) {
  return one_program("nan_cumprod", operand.at(), [&] {
    const Tensor numbers = with_identity(operand, 1);
    return cumprod({numbers, operand.at()}, axis);
  });
}

Tensor unwrap(Operand operand, const Unwrap& how) {
  const PublicCall call("unwrap", operand.at());
  Located x = floating("unwrap", "x", operand);
  const int64_t along = axis_of("unwrap", x.tensor().shape(), how.axis, x.at());
  if (!(how.period > 0))
    throw Error(trace_internal::invalid_argument("unwrap", ": period is ", how.period,
                                                 "; it must be above 0"),
                x.at());
  const int64_t n = x.tensor().dim(along);
  if (n < 2) return x.tensor();
  return one_program("unwrap", x.at(), [&] {
    Located rest = x.with(slice_in_dim(x.operand(), 1, n, 1, along));
    Located dd = rest - x.with(slice_in_dim(x.operand(), 0, n - 1, 1, along));
    Located stays = abs(dd) < how.jump.value_or(how.period / 2);
    Located moves = where(stays, 0, nearest(dd, how.period) - dd);
    Located moved = rest + x.with(cumsum(moves.operand(), along));
    Tensor first = slice_in_dim(x.operand(), 0, 1, 1, along);
    return concat({first, moved.tensor()}, along, x.at());
  });
}

Tensor repeat_each(Operand operand, Operand how_often, base::Int total, base::Int axis) {
  const PublicCall call("repeat_each", operand.at());
  SourceLocation at = operand.at();
  Tensor x = as_tensor(operand), counts = as_tensor(how_often);
  const int64_t along = axis_of("repeat_each", x.shape(), axis, at), size = x.dim(along);
  if (counts.rank() != 1 || counts.size() != size || !is_integer(counts.dtype()))
    throw Error(trace_internal::invalid_argument(
                    "repeat_each", ": counts are ", counts.shape(), "; axis ", axis, " of x, ",
                    x.shape(), ", has size ", size, ", they must be a vector of as many integers"),
                at);
  if (total < 0 || (size == 0 && total > 0))
    throw Error(trace_internal::invalid_argument(
                    "repeat_each", ": total is ", total, "; x is ", x.shape(),
                    ", it must be 0 or more, and 0 where there is nothing to repeat"),
                at);
  return one_program("repeat_each", at, [&] {
    // Place p takes the element before whose end it lies: as many elements end at or before p.
    const Tensor ends = cumsum({counts.astype(s64, at), at});
    const Tensor places = iota(s64, {total}, 0, at);
    const Tensor source = searchsorted({ends, at}, {places, at}, SearchSide::kRight);
    return take({x, at}, {source, at}, along);
  });
}

Tensor gcd(Operand x, Operand y) { return of_integers("gcd", x, y, gcd_of); }

Tensor lcm(Operand x, Operand y) {
  return of_integers("lcm", x, y, [](const Located& a, const Located& b) {
    Located common = gcd_of(a, b);
    return where(common == 0, 0, abs(a / where(common == 0, 1, common) * b));
  });
}

}  // namespace heddle
