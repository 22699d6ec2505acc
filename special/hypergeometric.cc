#include "heddle/special/hypergeometric.h"

#include <cmath>

#include "heddle/scan/loops.h"
#include "heddle/special/gamma.h"
#include "heddle/special/internal/formula.h"
#include "heddle/trace/tree.h"

namespace heddle::special {
namespace {

Expr log_gamma(const Expr& x) { return lgamma(x.operand()); }
Expr gamma_sign(const Expr& x) { return gammasgn(x.operand()); }

struct SeriesState {
  Tensor active;  // pred: not converged
  Tensor step;    // s32[]
  Tensor term, sum;
  Tensor slope;   // the sum of k times the term
  Tensor beside;  // the term without its factors of 0
  static constexpr auto kFields =
      fields(field("active", &SeriesState::active), field("step", &SeriesState::step),
             field("term", &SeriesState::term), field("sum", &SeriesState::sum),
             field("slope", &SeriesState::slope), field("beside", &SeriesState::beside));
};

// NaN if the series has not converged.
struct Sums {
  Expr sum, slope;
};

// The quotient of two terms, and what it is next to a parameter that makes it 0: the derivatives by
// that parameter go on where the sum ends. It is 0 too where they are not wanted.
struct Quotient {
  Expr value, beside;
};
Expr not_zero(const Expr& x) { return where(x == 0, 1, x); }

// The sum of `first` and its successors, each `ratio(k)` times the one before. An element may end
// once no factor (parameter + k) of the ratio can vanish any more; `settled(k)` says so.
template <class Ratio, class Settled>
Sums series(const Expr& first, const Expr& enabled, Ratio ratio, Settled settled, int most) {
  const double tolerance = float_limits(first.dtype()).epsilon / 4;
  auto running = [&](const SeriesState& s) {
    return ((Expr(s.step) < most) & any_of(Expr(s.active))).tensor();
  };
  auto advance = [&](const SeriesState& s) {
    const Expr k = Expr(s.step).astype(first.dtype()), active = Expr(s.active);
    const Quotient quotient = ratio(k);
    const Expr factor = quotient.value, term = Expr(s.term) * factor;
    const Expr beside = Expr(s.beside) * quotient.beside;
    const Expr sum = Expr(s.sum) + term, slope = Expr(s.slope) + (k + 1) * term;
    const Expr bound = tolerance * (1 - abs(factor));  // the rest is a geometric series
    const Expr small =
        (abs(term) <= bound * abs(sum)) & ((k + 1) * abs(term) <= bound * abs(slope)) & settled(k);
    const Expr no_more = (abs(beside) <= bound * abs(sum)) | (beside == 0) | ~is_finite(beside);
    const Expr done = where(term == 0, no_more, small) | ~is_finite(sum);
    return SeriesState{(active & ~done).tensor(),
                       (Expr(s.step) + 1).tensor(),
                       where(active, term, Expr(s.term)).tensor(),
                       where(active, sum, Expr(s.sum)).tensor(),
                       where(active, slope, Expr(s.slope)).tensor(),
                       where(active, beside, Expr(s.beside)).tensor()};
  };
  const SeriesState end =
      while_loop(running, advance,
                 SeriesState{enabled.tensor(), scalar(0), first.tensor(), first.tensor(),
                             first.like(0).tensor(), first.tensor()});
  const Expr open = Expr(end.active) & (Expr(end.term) != 0);
  return {where(open, NAN, Expr(end.sum)), where(open, NAN, Expr(end.slope))};
}

Expr kummer_series(const Expr& a, const Expr& b, const Expr& x, const Expr& first,
                   const Expr& enabled) {
  auto ratio = [&](const Expr& k) {
    const Expr value = (a + k) / (b + k) * (x / (k + 1));
    return Quotient{value,
                    where(is_pole(b), value, not_zero(a + k) / (b + k) * (not_zero(x) / (k + 1)))};
  };
  auto settled = [&](const Expr& k) { return (a + k > 0) & (b + k > 0); };
  return series(first, enabled, ratio, settled, 2000).sum;
}

struct Tail {
  Tensor active, term, sum;
  static constexpr auto kFields =
      fields(field("active", &Tail::active), field("term", &Tail::term), field("sum", &Tail::sum));
};

// gamma(b) / gamma(b - a) x^-a times the sum of (a)_k (a - b + 1)_k / (k! x^k), for a large x, as
// long as its terms fall: 1F1 at -x.
Expr kummer_far(const Expr& a, const Expr& b, const Expr& x) {
  auto step = [&](const Tensor& i, const Tail& s) {
    const Expr k = Expr(i).astype(x.dtype());
    const Expr factor = (a + k) * (a - b + 1 + k) / ((k + 1) * x);
    const Expr still = (abs(factor) < 1) | (a + k < 0) | (a - b + 1 + k < 0);
    const Expr active = Expr(s.active) & still, sum = Expr(s.sum);
    const Expr term = Expr(s.term) * factor;
    return Tail{active.tensor(), term.tensor(), where(active, sum + term, sum).tensor()};
  };
  const Tensor one = x.like(1).tensor();
  const Tail end = fori_loop(0, 60, step, Tail{(x == x).tensor(), one, one});
  const Expr rest = b - a;
  const Expr half = power(x, -0.5 * a);  // the whole power may underflow though the result does not
  const Expr size = half * exp(log_gamma(b) - log_gamma(rest)) * half;
  const Expr sign_of = gamma_sign(b) * gamma_sign(rest);
  return where(is_pole(rest), 0, sign_of * size * Expr(end.sum));
}

// The sign of 1F1 at infinity: that of gamma(b) / gamma(a), or of the last term if the sum ends.
Expr rising_sign(const Expr& a, const Expr& b) {
  const Expr last = where(abs(a) % 2 == 1, -gamma_sign(b - a), gamma_sign(b - a));
  return gamma_sign(b) * where(is_pole(a), last, gamma_sign(a));
}

Expr hyp1f1_of(const Expr& a, const Expr& b, const Expr& x) {
  const double limit = x.dtype() == f64 ? 700 : 150;
  const Expr bad = is_nan(a) | is_nan(b) | is_nan(x);
  const Expr ends = is_pole(a) & (a > b);  // before b + k is 0
  const Expr known = bad | (((a == 0) | (a == b)) & (abs(x) > limit)) | (is_pole(b) & ~ends);
  // The function at -x times e^x, in halves, since one may underflow and the other overflow.
  const Expr turned = (x < 0) & ~is_pole(a), far = turned & (x < -limit);
  const Expr size = at_most(abs(x), 1e30),
             half = where(turned, exp(-0.5 * minimum(size, limit)), 1);
  const Expr sum = kummer_series(where(turned, b - a, a), b, where(turned, size, x), half,
                                 ~(known | far | (abs(x) == INFINITY)));
  const Expr beyond = kummer_far(where(known, 1, a), where(known, 2, b), at_least(abs(x), limit));
  const Expr at_end = where(x < 0, beyond, rising_sign(a, b) * INFINITY);
  const Expr value = where(far | (abs(x) == INFINITY), at_end, sum * half);
  const Expr special = where(a == 0, 1, where(a == b, exp(x), INFINITY));
  return where(bad, NAN, where(known, special, value));
}

// 2F1 in the form of its sum: F(a, b; c; 1 - s) s^w, d = c - a - b, 0 <= s <= 1. e is max(-d, 0).
struct Gauss {
  Expr a, b, c, d, s, w, e;
};

// The most terms of a step of Taylor's series; |d| = 40 takes 200.
constexpr int kMostTerms = 400;

// F and -s dF/ds at 1 - s, both times s^e: without that factor they may overflow.
struct Point {
  Tensor s, value, slope;
  static constexpr auto kFields =
      fields(field("s", &Point::s), field("value", &Point::value), field("slope", &Point::slope));
};
struct Taylor {
  Tensor order;       // n, s32[]
  Tensor here, next;  // terms n and n + 1
  Tensor sum, slope;  // of the terms, and of n times the terms
  static constexpr auto kFields = fields(
      field("order", &Taylor::order), field("here", &Taylor::here), field("next", &Taylor::next),
      field("sum", &Taylor::sum), field("slope", &Taylor::slope));
};

// A step from one point to another, nearer to 1 by `part` of its distance (at most 1/2). The terms
// of Taylor's series follow from the differential equation.
Sums taylor(const Gauss& g, const Expr& enabled, const Expr& s, const Point& from,
            const Expr& part) {
  const Expr x = 1 - s, constant = g.d - 1 + (g.a + g.b + 1) * s, at_value = s * square(part);
  const double tolerance = float_limits(s.dtype()).epsilon / 16;
  auto running = [&](const Taylor& t) {
    const Expr n = Expr(t.order), last = maximum(abs(Expr(t.here)), abs(Expr(t.next)));
    const Expr open = (last > tolerance * abs(Expr(t.sum))) |
                      (last * n.astype(s.dtype()) > tolerance * abs(Expr(t.slope)));
    return (any_of(enabled & open) & (n < kMostTerms)).tensor();
  };
  auto step = [&](const Taylor& t) {
    const Expr n = Expr(t.order).astype(s.dtype());
    const Expr here = Expr(t.here), next = Expr(t.next);
    const Expr second = (g.a + n) * (g.b + n) * at_value * here;
    const Expr first = ((2 * s - 1) * n + constant) * (n + 1) * part * next;
    const Expr after = (second - first) / (x * (n + 1) * (n + 2));
    return Taylor{(Expr(t.order) + 1).tensor(), t.next, after.tensor(),
                  (Expr(t.sum) + next).tensor(), (Expr(t.slope) + (n + 1) * next).tensor()};
  };
  const Expr slope = Expr(from.slope) * part;
  const Taylor end = while_loop(
      running, step, Taylor{scalar(0), from.value, slope.tensor(), from.value, s.like(0).tensor()});
  return {Expr(end.sum), Expr(end.slope)};
}

// Steps from `start`, each half of the rest of the way to 1, until g.s or almost 1 is reached.
Point approach(const Gauss& g, const Point& start, const Expr& enabled) {
  const double nearest = float_limits(g.s.dtype()).epsilon / 16;
  auto left = [&](const Point& p) { return enabled & (Expr(p.s) > g.s) & (Expr(p.s) > nearest); };
  auto running = [&](const Point& p) { return any_of(left(p)).tensor(); };
  auto advance = [&](const Point& p) {
    const Expr s = Expr(p.s), value = Expr(p.value), slope = Expr(p.slope);
    const Expr active = left(p), next = where(active, at_least(g.s, 0.5 * s), s);
    const Expr part = where(active, (s - next) / s, 0.5), ratio = 1 - part;
    const Sums sums = taylor(g, active, where(active, s, 0.5), p, part);
    const Expr scale = power(ratio, g.e);
    return Point{next.tensor(), where(active, sums.sum * scale, value).tensor(),
                 where(active, sums.slope * scale * (ratio / part), slope).tensor()};
  };
  return while_loop(running, advance, start);
}

// Near 1, F is about A + B s^d; value and slope at p.s determine A and B.
Expr close_to_one(const Gauss& g, const Point& p) {
  const Expr ratio = g.s / Expr(p.s), size = abs(g.d), log_ratio = log(ratio);
  const Expr flat = size == 0;
  const Expr growth = where(flat, -log_ratio, -expm1(size * log_ratio) / where(flat, 1, size));
  const Expr rise = where(ratio == 1, 0, Expr(p.slope) * growth);
  return Expr(p.value) * power(ratio, g.e) + rise;
}

// 0 <= x <= 1 stays as it is; x < 0 is mapped to 1 - s = x / (x - 1). One of the two ways to do
// this has no alternating terms if c is greater than the lesser of a and b.
Gauss gauss_form(const Expr& a, const Expr& b, const Expr& c, const Expr& x) {
  const auto [low, high] = ordered(a, b);
  const Expr below = x < 0;
  const Expr first = c >= high;
  const Expr spread = where(first, high - low, low - high), d = c - a - b;
  const Expr lost = at_most(d, 0);
  return {where(below, where(first, low, c - low), low),
          where(below, where(first, c - high, high), high),
          c,
          where(below, spread, d),
          where(below, 1 / (1 - x), 1 - x),
          where(below, low, lost),
          where(below, where(first, 0, high - low), -lost)};
}

Expr ends_before(const Expr& a, const Expr& c) { return is_pole(a) & (a > c); }

// The sum up to x^2, for x = 0.
Expr near_zero(const Expr& a, const Expr& b, const Expr& c, const Expr& x) {
  const Expr regular = (x == 0) & ~is_pole(c) & is_finite(a * b / c);
  auto safe = [&](const Expr& v) { return where(regular, v, 1); };
  const Expr p = safe(a), q = safe(b), r = safe(c), t = where(regular, x, 0);
  return 1 + p * q / r * t * (1 + (p + 1) * (q + 1) / (2 * (r + 1)) * t);
}

Expr hyp2f1_of(const Expr& a, const Expr& b, const Expr& c, const Expr& x) {
  const Expr bad = is_nan(a) | is_nan(b) | is_nan(c) | is_nan(x);
  const Expr constant = ((a == 0) | (b == 0)) & (c != 0);
  const Expr one = (x == 0) | (constant & (is_pole(c) | (abs(x) >= 1)));
  const Expr ends = is_pole(a) | is_pole(b);
  const Expr infinite =
      where(is_pole(c), ~(ends_before(a, c) | ends_before(b, c)), ~ends & (x > 1));
  const Expr known = bad | one | infinite, enabled = ~known;
  auto safe = [&](const Expr& v) { return where(known, 0.5, v); };
  const Gauss g = gauss_form(safe(a), safe(b), safe(c), safe(where(ends, 0.5, x)));

  // If they began nearer to 0, steps of Taylor's series would raise the other solution, x^(1 - c),
  // out of rounding errors.
  const Expr rest = where(c > 10, at_least(5 / c, 0.01), 0.5), alone = g.s >= rest;
  const Expr start = where(alone, g.s, rest), p = where(ends, a, g.a), q = where(ends, b, g.b);
  const Expr z = where(ends, x, where(alone, where(x < 0, -x * g.s, x), 1 - rest));
  auto ratio = [&](const Expr& k) {
    const Expr value = (p + k) / (k + 1) * ((q + k) / (c + k) * z);
    const Expr beside = not_zero(p + k) / (k + 1) * (not_zero(q + k) / (c + k) * z);
    return Quotient{value, where(is_pole(c) | (abs(z) >= 1), value, beside)};
  };
  auto settled = [&](const Expr& k) { return (p + k > 0) & (q + k > 0) & (c + k > 0); };
  const Sums sums = series(x.like(1), enabled, ratio, settled, 4000);

  const Expr scale = power(start, g.e);
  const Point begin{start.tensor(), (sums.sum * scale).tensor(),
                    (sums.slope * scale * start / where(z == 0, 1, z)).tensor()};
  const Expr half = power(g.s, 0.5 * g.w);  // the power may overflow though the result does not
  const Expr value = half * close_to_one(g, approach(g, begin, enabled & ~ends)) * half;
  const Expr vanishes = (x == -INFINITY) & (minimum(a, b) > 0);
  const Expr overflows = (x > 0) & (abs(sums.sum) == INFINITY);
  const Expr regular = where(ends | overflows, sums.sum, where(vanishes, 0, value));
  return where(bad, NAN, where(one, near_zero(a, b, c, x), where(infinite, INFINITY, regular)));
}

}  // namespace

Tensor hyp1f1(Operand a, Operand b, Operand x) {
  return evaluate("special::hyp1f1", {{"a", a}, {"b", b}, {"x", x}}, [](Arguments v) {
    return elementwise("special::hyp1f1", v,
                       [](Arguments x) { return hyp1f1_of(x[0], x[1], x[2]); });
  });
}

Tensor hyp2f1(Operand a, Operand b, Operand c, Operand x) {
  return evaluate("special::hyp2f1", {{"a", a}, {"b", b}, {"c", c}, {"x", x}}, [](Arguments v) {
    return elementwise("special::hyp2f1", v,
                       [](Arguments x) { return hyp2f1_of(x[0], x[1], x[2], x[3]); });
  });
}

}  // namespace heddle::special
