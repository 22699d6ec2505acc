#include "heddle/scan/running.h"

#include "heddle/scan/associative.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/formulas.h"
#include "heddle/trace/located.h"

namespace heddle {
namespace {

using trace_internal::axis_of;
using trace_internal::floating;
using trace_internal::Located;
using trace_internal::one_program;

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

Located size_of(const Located& x) { return is_signed(x.dtype()) ? abs(x) : x; }

Located gcd_of(const Located& x, const Located& y) {
  auto unfinished = [&](const Euclid& s) { return any_of(x.with(s.b) != 0).tensor(); };
  auto step = [&](const Euclid& s) {
    Located a = x.with(s.a), b = x.with(s.b);
    Located open = b != 0;
    return Euclid{where(open, b, a).tensor(), where(open, a % where(open, b, 1), b).tensor()};
  };
  const Euclid start{size_of(x).tensor(), size_of(y).tensor()};
  return x.with(while_loop(unfinished, step, start, x.at()).a);
}

// The integers broadcast to each other.
template <class Fn>
Tensor of_integers(std::string_view op, const Operand& left, const Operand& right, Fn&& fn) {
  SourceLocation at = left.at();
  return one_program(op, at, [&] {
    OperandPair pair = unify(left, right, op);
    if (!is_integer(pair.a.dtype()))
      throw Error(
          invalid_argument(op, ": operands are ", pair.a.shape(), "; they must be of integers"),
          at);
    return fn(Located(pair.a, at), Located(pair.b, at)).tensor();
  });
}

}  // namespace

Tensor nan_cumsum(Operand operand, int64_t axis) {
  Located x = floating("nan_cumsum", "x", operand);
  return one_program("nan_cumsum", x.at(),
                     [&] { return cumsum(where(is_nan(x), 0, x).operand(), axis); });
}

Tensor nan_cumprod(Operand operand, int64_t axis) {
  Located x = floating("nan_cumprod", "x", operand);
  return one_program("nan_cumprod", x.at(),
                     [&] { return cumprod(where(is_nan(x), 1, x).operand(), axis); });
}

Tensor unwrap(Operand operand, const Unwrap& how) {
  Located x = floating("unwrap", "x", operand);
  const int64_t along = axis_of("unwrap", x.tensor().shape(), how.axis, x.at());
  if (!(how.period > 0))
    throw Error(invalid_argument("unwrap: period is ", how.period, "; it must be above 0"), x.at());
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

Tensor gcd(Operand x, Operand y) { return of_integers("gcd", x, y, gcd_of); }

Tensor lcm(Operand x, Operand y) {
  return of_integers("lcm", x, y, [](const Located& a, const Located& b) {
    Located common = gcd_of(a, b);
    return where(common == 0, 0, size_of(a / where(common == 0, 1, common) * b));
  });
}

}  // namespace heddle
