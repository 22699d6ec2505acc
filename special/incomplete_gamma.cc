// P and Q by the expansion that converges at a point: the series for x below 1 or a, the continued
// fraction elsewhere. Q of small x has a third one, so that it is no difference from 1. Both loops
// run on all elements; an element that is done, or that belongs to the other loop, keeps its
// values. They carry the derivatives with respect to a along.
#include <array>
#include <cmath>
#include <vector>

#include "heddle/scan/loops.h"
#include "heddle/scan/own_rule.h"
#include "heddle/special/gamma.h"
#include "heddle/special/internal/factors.h"
#include "heddle/special/internal/lanczos.h"
#include "heddle/trace/public_call.h"

namespace heddle::special {
namespace {

using special_internal::digamma_of;
using special_internal::lgamma1p;
using special_internal::log_ratio;
using special_internal::power_over_gamma;

enum class Wanted : uint8_t { kValue, kDerivative, kSampleDerivative };

// Active elements take `next`, the others keep `now`.
Tensor keep_going(const Expr& active, const Expr& next, const Tensor& now) {
  return where(active, next, Expr(now)).tensor();
}

// The result of an expansion: `sum` stands for P or Q without the factor x^a e^-x / gamma(a), and
// `slope` for its derivative with respect to a.
struct Expansion {
  Expr sum, slope;
};

Expr finished(const Expansion& e, const Expr& factor, const Expr& log_slope, const Expr& x,
              Wanted wanted) {
  if (wanted == Wanted::kValue) return e.sum * factor;
  Expr total = e.sum * log_slope + e.slope;
  return wanted == Wanted::kDerivative ? factor * total : -total * x;
}

struct GammaSeriesState {
  Tensor active;  // pred: not converged
  Tensor r;       // a + step
  Tensor term, sum;
  Tensor term_slope, slope;
  static constexpr auto kFields = fields(
      field("active", &GammaSeriesState::active), field("r", &GammaSeriesState::r),
      field("term", &GammaSeriesState::term), field("sum", &GammaSeriesState::sum),
      field("term_slope", &GammaSeriesState::term_slope), field("slope", &GammaSeriesState::slope));
};

// sum x^k / ((a + 1) .. (a + k)).
Expansion series(const Expr& a, const Expr& x, const Expr& enabled, Wanted wanted) {
  double epsilon = float_limits(a.dtype()).epsilon;
  auto running = [&](const GammaSeriesState& s) { return any_of(s.active).tensor(); };
  auto step = [&](const GammaSeriesState& s) {
    Expr active = s.active;
    Expr r = Expr(s.r) + 1.0;
    Expr ratio = x / r;
    Expr term_slope = Expr(s.term_slope) * ratio - Expr(s.term) * x / (r * r);
    Expr slope = Expr(s.slope) + term_slope;
    Expr term = Expr(s.term) * ratio;
    Expr sum = Expr(s.sum) + term;
    Expr unconverged =
        wanted == Wanted::kValue ? term / sum > epsilon : abs(term_slope / slope) > epsilon;
    return GammaSeriesState{(active & unconverged).tensor(),
                            keep_going(active, r, s.r),
                            keep_going(active, term, s.term),
                            keep_going(active, sum, s.sum),
                            keep_going(active, term_slope, s.term_slope),
                            keep_going(active, slope, s.slope)};
  };
  Tensor one = a.like(1.0).tensor();
  Tensor zero = a.like(0.0).tensor();
  GammaSeriesState last = while_loop(
      running, step, GammaSeriesState{enabled.tensor(), a.tensor(), one, one, zero, zero});
  return {Expr(last.sum), Expr(last.slope)};
}

// Convergents p / q of the continued fraction, the two latest, with their derivatives.
struct FractionState {
  Tensor active;  // pred
  Tensor step;    // s32[]
  Tensor y, z;
  Tensor p1, p2, q1, q2;
  Tensor dp1, dp2, dq1, dq2;
  Tensor value, slope;
  static constexpr auto kFields =
      fields(field("active", &FractionState::active), field("step", &FractionState::step),
             field("y", &FractionState::y), field("z", &FractionState::z),
             field("p1", &FractionState::p1), field("p2", &FractionState::p2),
             field("q1", &FractionState::q1), field("q2", &FractionState::q2),
             field("dp1", &FractionState::dp1), field("dp2", &FractionState::dp2),
             field("dq1", &FractionState::dq1), field("dq2", &FractionState::dq2),
             field("value", &FractionState::value), field("slope", &FractionState::slope));
};

constexpr int kMostSteps = 2000;

FractionState fraction_start(const Expr& a, const Expr& x, const Expr& enabled) {
  Expr y = 1.0 - a;
  Expr z = x + y + 1.0;
  Expr p1 = x + 1.0;
  Expr q1 = z * x;
  Expr value = p1 / q1;
  Tensor zero = x.like(0.0).tensor();
  Expr slope = value * x / q1;
  return {.active = enabled.tensor(),
          .step = zeros({}, s32),
          .y = y.tensor(),
          .z = z.tensor(),
          .p1 = p1.tensor(),
          .p2 = x.like(1.0).tensor(),
          .q1 = q1.tensor(),
          .q2 = x.tensor(),
          .dp1 = zero,
          .dp2 = zero,
          .dq1 = (-x).tensor(),
          .dq2 = zero,
          .value = value.tensor(),
          .slope = slope.tensor()};
}

FractionState fraction_step(const FractionState& s, double epsilon, Wanted wanted) {
  Expr active = s.active;
  Expr step = Expr(s.step) + 1;
  Expr c = step.astype(s.y.dtype());
  Expr y = Expr(s.y) + 1.0;
  Expr z = Expr(s.z) + 2.0;
  Expr p1 = Expr(s.p1), p2 = Expr(s.p2), q1 = Expr(s.q1), q2 = Expr(s.q2);
  Expr dp1 = Expr(s.dp1), dp2 = Expr(s.dp2), dq1 = Expr(s.dq1), dq2 = Expr(s.dq2);
  Expr yc = y * c;
  Expr p = p1 * z - p2 * yc;
  Expr q = q1 * z - q2 * yc;
  Expr regular = q != 0.0;
  Expr ratio = p / q;
  Expr change = where(regular, abs((Expr(s.value) - ratio) / ratio), 1.0);
  Expr value = where(regular, ratio, Expr(s.value));
  Expr dp = dp1 * z - p1 - dp2 * yc + p2 * c;
  Expr dq = dq1 * z - q1 - dq2 * yc + q2 * c;
  Expr slope = where(regular, (dp - value * dq) / q, Expr(s.slope));
  Expr slope_change = where(regular, abs(slope - Expr(s.slope)), 1.0);
  // The convergents grow without bound; only their ratios matter.
  Expr scale = where(abs(p) > 1.0 / epsilon, epsilon, p.like(1.0));
  Expr unconverged = (wanted == Wanted::kValue ? change : slope_change) > epsilon;
  auto next = [&](const Expr& now, const Tensor& before) {
    return keep_going(active, now, before);
  };
  return {.active = (active & unconverged).tensor(),
          .step = step.tensor(),
          .y = next(y, s.y),
          .z = next(z, s.z),
          .p1 = next(p * scale, s.p1),
          .p2 = next(p1 * scale, s.p2),
          .q1 = next(q * scale, s.q1),
          .q2 = next(q1 * scale, s.q2),
          .dp1 = next(dp * scale, s.dp1),
          .dp2 = next(dp1 * scale, s.dp2),
          .dq1 = next(dq * scale, s.dq1),
          .dq2 = next(dq1 * scale, s.dq2),
          .value = next(value, s.value),
          .slope = next(slope, s.slope)};
}

Expansion fraction(const Expr& a, const Expr& x, const Expr& enabled, Wanted wanted) {
  double epsilon = float_limits(a.dtype()).epsilon;
  auto running = [&](const FractionState& s) {
    return (any_of(s.active) & (Expr(s.step) < kMostSteps)).tensor();
  };
  auto step = [&](const FractionState& s) { return fraction_step(s, epsilon, wanted); };
  FractionState last = while_loop(running, step, fraction_start(a, x, enabled));
  return {Expr(last.value), Expr(last.slope)};
}

// The values of a and x that both functions and their derivatives need.
struct GammaPoint {
  Expr a, x;
  Expr factor;   // x^a e^-x / gamma(a)
  Expr outside;  // outside of the domain, or NaN
  Expr regular;  // inside of it, and the factor does not underflow
};

GammaPoint point_at(const Expr& a, const Expr& x, Wanted wanted = Wanted::kValue) {
  Expr power = log_ratio(x - a, a, x);
  // Below the least denormal number.
  Expr underflow = power < -1.25 * std::log(float_limits(a.dtype()).largest);
  Expr outside = (x < 0.0) | (a < 0.0) | ((a == 0.0) & (x == 0.0)) | is_nan(a) | is_nan(x);
  Expr ends = (x == 0.0) | (a == 0.0) | (x == INFINITY) | (a == INFINITY);
  // The derivative of samples has the factor in both numerator and denominator.
  if (wanted == Wanted::kSampleDerivative) underflow = outside;
  return {a, x, exp(power) * (power_over_gamma(a) * at_most(a, 1.0)), outside,
          ~(outside | underflow | ends)};
}

// P by the series for small x, 1 - Q by the fraction for large x; the derivatives likewise.
Expr lower(const GammaPoint& p, Wanted wanted) {
  Expr use_fraction = (p.x > 1.0) & (p.x > p.a);
  Expansion s = series(p.a, p.x, p.regular & ~use_fraction, wanted);
  Expansion f = fraction(p.a, p.x, p.regular & use_fraction, wanted);
  Expr log_x = log(p.x);
  // The series lacks a factor 1 / a, whose logarithm's slope is in digamma(a + 1).
  Expr small = finished(s, p.factor, log_x - digamma_of(p.a + 1.0), p.x, wanted) / p.a;
  Expr large = finished(f, p.factor, log_x - digamma_of(p.a), p.x, wanted);
  return where(use_fraction, wanted == Wanted::kValue ? 1.0 - large : -large, small);
}

Expr igamma_of(const Expr& a, const Expr& x) {
  GammaPoint p = point_at(a, x);
  Expr inside = where((a == INFINITY) | (x == 0.0), 0.0, lower(p, Wanted::kValue));
  inside = where((x == INFINITY) | (a == 0.0), 1.0, inside);
  return where(p.outside, NAN, inside);
}

// Q for x up to 1.5, as 1 - x^a / gamma(1 + a) minus the rest of the series in powers of x. So it
// keeps its digits where P is near 1.
Expr upper_of_small(const Expr& a, const Expr& x) {
  int terms = a.dtype() == f64 ? 24 : 16;
  Expr power = x.like(1.0);
  Expr rest = x.like(0.0);
  for (int k = 1; k < terms; ++k) {
    power = power * (x / -static_cast<double>(k));
    rest = rest + power / (a + static_cast<double>(k));
  }
  Expr log_first = a * log(x) - lgamma1p(a);
  return -expm1(log_first) - exp(log_first) * a * rest;
}

Expr igammac_of(const Expr& a, const Expr& x) {
  GammaPoint p = point_at(a, x);
  // Where P is more than about a half.
  Expr small = (x <= 1.5) & where(x <= 0.5, a * log(x) > -0.4, 1.1 * x >= a);
  Expr use_series = ~small & ((x <= 1.1) | (x < a));
  Expr use_fraction = ~small & ~use_series;
  Expansion s = series(a, x, p.regular & use_series, Wanted::kValue);
  Expansion f = fraction(a, x, p.regular & use_fraction, Wanted::kValue);
  Expr inside = where(use_series, 1.0 - s.sum * p.factor / a, f.sum * p.factor);
  inside = where(small, upper_of_small(a, x), inside);
  inside = where((a == INFINITY) | (x == 0.0), 1.0, inside);
  inside = where((x == INFINITY) | (a == 0.0), 0.0, inside);
  return where(p.outside, NAN, inside);
}

Expr derivative_of(const Expr& a, const Expr& x, Wanted wanted) {
  return elementwise("special::igamma_grad_a", std::array{a, x}, [&](Arguments v) {
    GammaPoint p = point_at(v[0], v[1], wanted);
    Expr value = where(p.x == 0.0, 0.0, lower(p, wanted));
    return where(p.outside | (p.a == 0.0), NAN, value);
  });
}

// The tangent of P: x^(a-1) e^-x / gamma(a) dx, and the derivative by a.
Expr slope_of(const Expr& a, const Expr& x, const Expr& da, const Expr& dx) {
  Expr is_inside = (x > 0.0) & (x < INFINITY);
  Expr safe = where(is_inside, x, 1.0);
  Expr at_0 = where(a < 1.0, INFINITY, where(a == 1.0, a.like(1.0), 0.0));
  Expr by_x = where(is_inside, point_at(a, safe).factor / safe, where(x == 0.0, at_0, 0.0));
  return by_x * dx + derivative_of(a, x, Wanted::kDerivative) * da;
}

// fn of a and x, whose slope is `sign` times that of P.
Expr with_slope(std::string_view op, Arguments v, Expr (*fn)(const Expr&, const Expr&),
                double sign) {
  const auto value = [&](std::span<const Tensor> x) { return fn(x[0], x[1]).tensor(); };
  const auto rule = [&](std::span<const Tensor> x, const Tensor&, std::span<const Tensor> dx) {
    return (slope_of(x[0], x[1], dx[0], dx[1]) * sign).tensor();
  };
  return Expr(scan_internal::with_rule(op, {v[0].tensor(), v[1].tensor()}, value, rule));
}

}  // namespace

Tensor igamma(Operand a, Operand x) {
  return evaluate("special::igamma", {{"a", a}, {"x", x}},
                  [](Arguments v) { return with_slope("special::igamma", v, igamma_of, 1); });
}

Tensor igammac(Operand a, Operand x) {
  return evaluate("special::igammac", {{"a", a}, {"x", x}},
                  [](Arguments v) { return with_slope("special::igammac", v, igammac_of, -1); });
}

Tensor gammainc(Operand a, Operand x) {
  const trace_internal::PublicCall call("special::gammainc", a.at());
  return igamma(a, x);
}

Tensor gammaincc(Operand a, Operand x) {
  const trace_internal::PublicCall call("special::gammaincc", a.at());
  return igammac(a, x);
}

Tensor igamma_grad_a(Operand a, Operand x) {
  return evaluate("special::igamma_grad_a", {{"a", a}, {"x", x}},
                  [](Arguments v) { return derivative_of(v[0], v[1], Wanted::kDerivative); });
}

Tensor random_gamma_grad(Operand a, Operand x) {
  return evaluate("special::random_gamma_grad", {{"a", a}, {"x", x}},
                  [](Arguments v) { return derivative_of(v[0], v[1], Wanted::kSampleDerivative); });
}

}  // namespace heddle::special
