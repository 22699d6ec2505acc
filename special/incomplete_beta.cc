// I_x(a, b) by a continued fraction, which converges fast left of (a + 1) / (a + b + 2). To the
// right of that it uses the fraction of I_(1-x)(b, a).
#include <cmath>

#include "heddle/scan/loops.h"
#include "heddle/special/gamma.h"
#include "heddle/special/internal/factors.h"

namespace heddle::special {
namespace {

using special_internal::log_ratio;
using special_internal::power_over_gamma;

struct LentzState {
  Tensor active;  // pred: not converged
  Tensor step;    // s32[]
  Tensor c, d;    // quotients of successive numerators and denominators
  Tensor value;
  static constexpr auto kFields = fields(
      field("active", &LentzState::active), field("step", &LentzState::step),
      field("c", &LentzState::c), field("d", &LentzState::d), field("value", &LentzState::value));
};

// The n-th terms of the fraction, without the factor a of the first two numerators.
struct BetaTerms {
  Expr numerator, denominator;
};
BetaTerms terms_at(const Expr& n, const Expr& a, const Expr& b, const Expr& x, const Expr& margin) {
  Expr spread = a + 2.0 * n;
  Expr w = x / (spread - 1.0);
  Expr first = where(n == 1.0, w, (a + n - 1.0) * w);
  Expr numerator = first * ((a + b + n - 1.0) * w) * n * (b - n);
  Expr denominator =
      n + n * (b - n) * w + (a + n) / (spread + 1.0) * (margin + 1.0 + n * (2.0 - x));
  return {numerator, denominator};
}

// a beta(a, b) I_x(a, b) / (x^a y^b), y = 1 - x, by Lentz's method, with Thompson and Barnett's
// `small` in place of zeros. source: A. DiDonato and A. Morris, ACM TOMS 18 (1992), algorithm 708,
// section 7; the even part of DLMF 8.17.22. Left of a / (a + b) all terms up to n = b are positive
Expr continued_fraction(const Expr& a, const Expr& b, const Expr& x, const Expr& y) {
  double small = float_limits(a.dtype()).epsilon_below;
  int most = a.dtype() == f64 ? 600 : 200;
  Expr margin = a * y - b * x;
  auto not_zero = [&](const Expr& t) {
    return where(abs(t) < float_limits(a.dtype()).smallest_normal, small, t);
  };
  auto running = [&](const LentzState& s) {
    return ((Expr(s.step) < most) & any_of(s.active)).tensor();
  };
  auto advance = [&](const LentzState& s) {
    Expr step = Expr(s.step) + 1;
    BetaTerms t = terms_at(a.like(0.0) + step.astype(a.dtype()), a, b, x, margin);
    Expr c = not_zero(t.denominator + t.numerator / Expr(s.c));
    Expr d = 1.0 / not_zero(t.denominator + t.numerator * Expr(s.d));
    Expr change = c * d;
    // Elements that are done stop: a factor of 1 + epsilon at each further step would add up.
    Expr active(s.active), value(s.value);
    Expr unconverged = active & (abs(change - 1.0) >= small);
    return LentzState{unconverged.tensor(), step.tensor(), c.tensor(), d.tensor(),
                      where(active, value * change, value).tensor()};
  };
  Expr first = not_zero((margin + 1.0) / (a + 1.0));
  LentzState start{(a == a).tensor(), scalar(0), first.tensor(), a.like(0.0).tensor(),
                   first.tensor()};
  return 1.0 / Expr(while_loop(running, advance, start).value);
}

// x^a y^b / (a beta(a, b)).
Expr prefactor(const Expr& a, const Expr& b, const Expr& x, const Expr& y) {
  Expr both = a + b;
  Expr difference = x * b - y * a;
  Expr power = log_ratio(difference, a, x * both) + log_ratio(-difference, b, y * both);
  // power_over_gamma lacks a factor below 1.
  Expr rest = power_over_gamma(a) * (power_over_gamma(b) / power_over_gamma(both));
  return exp(power) * rest * (at_most(b, 1.0) / at_most(both, 1.0)) / where(a > 1.0, a, 1.0);
}

Expr power_of(const Expr& x, const Expr& y) { return heddle::power(x.operand(), y.operand()); }

Expr betainc_of(const Expr& a, const Expr& b, const Expr& at) {
  const Expr is_zero = at == 0.0, is_one = at == 1.0;
  const Expr x = where(is_zero | is_one, 0.5, at);
  // A small I must not be a difference from 1. So for small b the fraction serves up to where I is
  // near a half, though it converges slowly there.
  Expr steep = (b < 2.0) & (x < 0.995) & (x < a / (a + 1.5 * b));
  Expr direct = (x < (a + 1.0) / (a + b + 2.0)) | steep;
  Expr p = where(direct, a, b);
  Expr q = where(direct, b, a);
  Expr other = 1.0 - x;
  Expr y = where(direct, x, other);
  Expr z = where(direct, other, x);
  Expr value = continued_fraction(p, q, y, z) * prefactor(p, q, y, z);
  value = where(direct, value, 1.0 - value);
  // At the ends, a formula with the same slope.
  value = where(is_zero, b * power_of(where(is_zero, at, 1.0), a), value);
  value = where(is_one, 1.0 - a * power_of(where(is_one, 1.0 - at, 1.0), b), value);

  // The whole distribution is at 0, or at 1.
  Expr at_zero = (a == 0.0) | (b == INFINITY);
  Expr at_one = (b == 0.0) | (a == INFINITY);
  value = where((at_one & ~is_one) | (at_zero & is_zero), 0.0, value);
  value = where((at_zero & ~is_zero) | (at_one & is_one), 1.0, value);
  Expr outside = (a < 0.0) | (b < 0.0) | (x < 0.0) | (x > 1.0) | (at_zero & at_one);
  return where(outside | is_nan(a) | is_nan(b) | is_nan(x), NAN, value);
}

}  // namespace

Tensor betainc(Operand a, Operand b, Operand x) {
  return evaluate("special::betainc", {{"a", a}, {"b", b}, {"x", x}}, [](Arguments v) {
    return elementwise("special::betainc", v,
                       [](Arguments x) { return betainc_of(x[0], x[1], x[2]); });
  });
}

}  // namespace heddle::special
