#include "heddle/special/hypergeometric.h"

#include <cmath>

#include "heddle/scan/loops.h"
#include "heddle/special/gamma.h"
#include "heddle/special/internal/formula.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tree.h"

namespace heddle::special {
namespace {

using special_internal::any_of;
using special_internal::evaluate;
using trace_internal::Located;
using trace_internal::PublicCall;
using Arguments = std::span<const Located>;

Located is_pole(const Located& x) { return (x <= 0) & (x == floor(x)); }

Located lgamma_at(const Located& x) { return x.with(lgamma(x.operand())); }
Located sign_at(const Located& x) { return x.with(gammasgn(x.operand())); }

struct SeriesState {
  Tensor active;  // pred: not converged
  Tensor step;    // s32[]
  Tensor term, sum;
  Tensor slope;  // the sum of k times the term
  static constexpr auto kFields =
      fields(field("active", &SeriesState::active), field("step", &SeriesState::step),
             field("term", &SeriesState::term), field("sum", &SeriesState::sum),
             field("slope", &SeriesState::slope));
};

// NaN where the series has not converged.
struct Sums {
  Located sum, slope;
};

// The sum of `first` and its successors, each `ratio(k)` times the one before. An element is done
// where no parameter + k that is a factor of the ratio can vanish any more, as `settled(k)` says.
template <class Ratio, class Settled>
Sums series(const Located& first, const Located& enabled, Ratio ratio, Settled settled, int most) {
  const double tolerance = float_limits(first.dtype()).epsilon / 4;
  auto running = [&](const SeriesState& s) {
    return ((first.with(s.step) < most) & any_of(first.with(s.active))).tensor();
  };
  auto advance = [&](const SeriesState& s) {
    const Located k = first.with(s.step).astype(first.dtype()), active = first.with(s.active);
    const Located factor = ratio(k), term = first.with(s.term) * factor;
    const Located sum = first.with(s.sum) + term, slope = first.with(s.slope) + (k + 1) * term;
    const Located bound = tolerance * (1 - abs(factor));  // what is left is a geometric series
    const Located small =
        (abs(term) <= bound * abs(sum)) & ((k + 1) * abs(term) <= bound * abs(slope)) & settled(k);
    const Located done = small | (term == 0) | ~is_finite(sum);
    return SeriesState{(active & ~done).tensor(), (first.with(s.step) + 1).tensor(),
                       where(active, term, first.with(s.term)).tensor(),
                       where(active, sum, first.with(s.sum)).tensor(),
                       where(active, slope, first.with(s.slope)).tensor()};
  };
  const SeriesState end =
      while_loop(running, advance,
                 SeriesState{enabled.tensor(), scalar(0, first.at()), first.tensor(),
                             first.tensor(), first.like(0).tensor()},
                 first.at());
  const Located open = first.with(end.active);
  return {where(open, NAN, first.with(end.sum)), where(open, NAN, first.with(end.slope))};
}

Located kummer_series(const Located& a, const Located& b, const Located& x, const Located& first,
                      const Located& enabled) {
  auto ratio = [&](const Located& k) { return (a + k) / (b + k) * (x / (k + 1)); };
  auto settled = [&](const Located& k) { return (a + k > 0) & (b + k > 0); };
  return series(first, enabled, ratio, settled, 2000).sum;
}

struct Tail {
  Tensor active, term, sum;
  static constexpr auto kFields =
      fields(field("active", &Tail::active), field("term", &Tail::term), field("sum", &Tail::sum));
};

// gamma(b) / gamma(b - a) x^-a times the sum of (a)_k (a - b + 1)_k / (k! x^k), for a large x, as
// long as its terms fall: 1F1 at -x.
Located kummer_far(const Located& a, const Located& b, const Located& x) {
  auto step = [&](const Tensor& i, const Tail& s) {
    const Located k = x.with(i).astype(x.dtype());
    const Located factor = (a + k) * (a - b + 1 + k) / ((k + 1) * x);
    const Located still = (abs(factor) < 1) | (a + k < 0) | (a - b + 1 + k < 0);
    const Located active = x.with(s.active) & still, sum = x.with(s.sum);
    const Located term = x.with(s.term) * factor;
    return Tail{active.tensor(), term.tensor(), where(active, sum + term, sum).tensor()};
  };
  const Tensor one = x.like(1).tensor();
  const Tail end =
      fori_loop({0, x.at()}, {60, x.at()}, step, Tail{(x == x).tensor(), one, one}, x.at());
  const Located rest = b - a;
  const Located half = power(x, -0.5 * a);  // the whole power may underflow where all does not
  const Located size = half * exp(lgamma_at(b) - lgamma_at(rest)) * half;
  const Located sign_of = sign_at(b) * sign_at(rest);
  return where(is_pole(rest), 0, sign_of * size * x.with(end.sum));
}

// The sign of 1F1 at infinity: that of gamma(b) / gamma(a), or of the last term where there is one.
Located rising_sign(const Located& a, const Located& b) {
  const Located last = where(abs(a) % 2 == 1, -sign_at(b - a), sign_at(b - a));
  return sign_at(b) * where(is_pole(a), last, sign_at(a));
}

Located hyp1f1_of(const Located& a, const Located& b, const Located& x) {
  const double limit = x.dtype() == f64 ? 700 : 150;
  const Located bad = is_nan(a) | is_nan(b) | is_nan(x);
  const Located ends = is_pole(a) & (a > b);  // before b + k is 0
  const Located known = bad | (a == 0) | (a == b) | (is_pole(b) & ~ends);
  // Of -x, times e^x: in halves, since one may underflow and the other overflow.
  const Located turned = (x < 0) & ~is_pole(a), far = turned & (x < -limit);
  const Located size = minimum(abs(x), 1e30),
                half = where(turned, exp(-0.5 * minimum(size, limit)), 1);
  const Located sum = kummer_series(where(turned, b - a, a), b, where(turned, size, x), half,
                                    ~(known | far | (abs(x) == INFINITY)));
  const Located beyond = kummer_far(where(known, 1, a), where(known, 2, b), maximum(abs(x), limit));
  const Located at_end = where(x < 0, beyond, rising_sign(a, b) * INFINITY);
  const Located value = where(far | (abs(x) == INFINITY), at_end, sum * half);
  const Located special = where(a == 0, 1, where(a == b, exp(x), INFINITY));
  return where(bad, NAN, where(known, special, value));
}

// 2F1 in the form in which it is summed: F(a, b; c; 1 - s) s^w, d = c - a - b, 0 <= s <= 1.
struct Gauss {
  Located a, b, c, d, s, w;
};

// Most terms of a step of Taylor's series; for |d| of 40 it takes 200.
constexpr int kMostTerms = 400;

// F and -s dF/ds at 1 - s, both times s^e, e = max(-d, 0), without which they may overflow.
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

// From one point to another, nearer 1 by `part` of its distance, which is 1/2 or less: the terms of
// Taylor's series follow from those of the differential equation.
Sums taylor(const Gauss& g, const Located& enabled, const Located& s, const Point& from,
            const Located& part) {
  const Located x = 1 - s, constant = g.d - 1 + (g.a + g.b + 1) * s, at_value = s * square(part);
  const double tolerance = float_limits(s.dtype()).epsilon / 16;
  auto running = [&](const Taylor& t) {
    const Located n = s.with(t.order), last = maximum(abs(s.with(t.here)), abs(s.with(t.next)));
    const Located open = (last > tolerance * abs(s.with(t.sum))) |
                         (last * n.astype(s.dtype()) > tolerance * abs(s.with(t.slope)));
    return (any_of(enabled & open) & (n < kMostTerms)).tensor();
  };
  auto step = [&](const Taylor& t) {
    const Located n = s.with(t.order).astype(s.dtype());
    const Located here = s.with(t.here), next = s.with(t.next);
    const Located second = (g.a + n) * (g.b + n) * at_value * here;
    const Located first = ((2 * s - 1) * n + constant) * (n + 1) * part * next;
    const Located after = (second - first) / (x * (n + 1) * (n + 2));
    return Taylor{(s.with(t.order) + 1).tensor(), t.next, after.tensor(),
                  (s.with(t.sum) + next).tensor(), (s.with(t.slope) + (n + 1) * next).tensor()};
  };
  const Located slope = s.with(from.slope) * part;
  const Taylor end = while_loop(
      running, step,
      Taylor{scalar(0, s.at()), from.value, slope.tensor(), from.value, s.like(0).tensor()},
      s.at());
  return {s.with(end.sum), s.with(end.slope)};
}

// From `start` on, half of the rest of the way to 1 at a time, until g.s or almost 1 is reached.
Point approach(const Gauss& g, const Point& start, const Located& enabled) {
  const Located e = maximum(-g.d, 0);
  const double nearest = float_limits(g.s.dtype()).epsilon / 16;
  auto left = [&](const Point& p) {
    return enabled & (g.s.with(p.s) > g.s) & (g.s.with(p.s) > nearest);
  };
  auto running = [&](const Point& p) { return any_of(left(p)).tensor(); };
  auto advance = [&](const Point& p) {
    const Located s = g.s.with(p.s), value = g.s.with(p.value), slope = g.s.with(p.slope);
    const Located active = left(p), next = where(active, maximum(g.s, 0.5 * s), s);
    const Located part = where(active, (s - next) / s, 0.5), ratio = 1 - part;
    const Sums sums = taylor(g, active, where(active, s, 0.5), p, part);
    const Located scale = power(ratio, e);
    return Point{next.tensor(), where(active, sums.sum * scale, value).tensor(),
                 where(active, sums.slope * scale * (ratio / part), slope).tensor()};
  };
  return while_loop(running, advance, start, g.s.at());
}

// F is about A + B s^d near 1, which value and slope at p.s determine.
Located close_to_one(const Gauss& g, const Point& p) {
  const Located ratio = g.s / g.s.with(p.s), size = abs(g.d), log_ratio = log(ratio);
  const Located flat = size == 0;
  const Located growth = where(flat, -log_ratio, -expm1(size * log_ratio) / where(flat, 1, size));
  const Located rise = where(ratio == 1, 0, g.s.with(p.slope) * growth);
  return g.s.with(p.value) * power(ratio, maximum(-g.d, 0)) + rise;
}

// For 0 <= x <= 1 as it is; x < 0 is mapped to 1 - s = x / (x - 1), where of two ways to do it one
// is without alternating terms if c is greater than the lesser of a and b.
Gauss gauss_form(const Located& a, const Located& b, const Located& c, const Located& x) {
  const Located low = minimum(a, b), high = maximum(a, b), below = x < 0;
  const Located first = c >= high;
  const Located spread = where(first, high - low, low - high), d = c - a - b;
  return {where(below, where(first, low, c - low), low),
          where(below, where(first, c - high, high), high),
          c,
          where(below, spread, d),
          where(below, 1 / (1 - x), 1 - x),
          where(below, low, minimum(d, 0))};
}

Located ends_before(const Located& a, const Located& c) { return is_pole(a) & (a > c); }

Located hyp2f1_of(const Located& a, const Located& b, const Located& c, const Located& x) {
  const Located bad = is_nan(a) | is_nan(b) | is_nan(c) | is_nan(x);
  const Located one = (x == 0) | (((a == 0) | (b == 0)) & (c != 0));
  const Located ends = is_pole(a) | is_pole(b);
  const Located infinite =
      where(is_pole(c), ~(ends_before(a, c) | ends_before(b, c)), ~ends & (x > 1));
  const Located known = bad | one | infinite, enabled = ~known;
  auto safe = [&](const Located& v) { return where(known, 0.5, v); };
  const Gauss g = gauss_form(safe(a), safe(b), safe(c), safe(where(ends, 0.5, x)));

  // From nearer to 0, steps of Taylor's series would raise the other solution, x^(1 - c), out of
  // rounding errors.
  const Located rest = where(c > 10, maximum(5 / c, 0.01), 0.5);
  const Located start = maximum(g.s, rest), p = where(ends, a, g.a), q = where(ends, b, g.b);
  const Located z = where(ends, x, where(x < 0, minimum(-x * g.s, 1 - rest), minimum(x, 1 - rest)));
  auto ratio = [&](const Located& k) { return (p + k) / (k + 1) * ((q + k) / (c + k) * z); };
  auto settled = [&](const Located& k) { return (p + k > 0) & (q + k > 0) & (c + k > 0); };
  const Sums sums = series(x.like(1), enabled, ratio, settled, 4000);

  const Located scale = power(start, maximum(-g.d, 0));
  const Point begin{start.tensor(), (sums.sum * scale).tensor(),
                    (sums.slope * scale * start / where(z == 0, 1, z)).tensor()};
  const Located half = power(g.s, 0.5 * g.w);  // the whole power may overflow where all does not
  const Located value = half * close_to_one(g, approach(g, begin, enabled & ~ends)) * half;
  const Located vanishes = (x == -INFINITY) & (minimum(a, b) > 0);
  const Located overflows = (x > 0) & (abs(sums.sum) == INFINITY);
  const Located regular = where(ends | overflows, sums.sum, where(vanishes, 0, value));
  return where(bad, NAN, where(one, 1, where(infinite, INFINITY, regular)));
}

}  // namespace

Tensor hyp1f1(Operand a, Operand b, Operand x) {
  return evaluate("special::hyp1f1", {a, b, x},
                  [](Arguments v) { return hyp1f1_of(v[0], v[1], v[2]); });
}

Tensor hyp2f1(Operand a, Operand b, Operand c, Operand x) {
  return evaluate("special::hyp2f1", {a, b, c, x},
                  [](Arguments v) { return hyp2f1_of(v[0], v[1], v[2], v[3]); });
}

}  // namespace heddle::special
