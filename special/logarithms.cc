#include "heddle/special/logarithms.h"

#include <array>
#include <cmath>
#include <numbers>

#include "heddle/scan/own_rule.h"
#include "heddle/special/internal/formula.h"

namespace heddle::special {
namespace {

// x times `log` of y, but 0 where x is 0: 0 log 0 = 0. A NaN of y stays. Where the logarithm is
// finite 0 is what the product gives, and with it the slopes of the product.
Expr times_log(const Expr& x, const Expr& y, Tensor (*log_of)(Operand)) {
  Expr regular = (x != 0.0) | is_finite(Expr(log_of(y.operand()))) | is_nan(y);
  Expr safe_y = where(regular, y, 1.0);
  return where(regular, x * Expr(log_of(safe_y.operand())), 0.0);
}

// log(p / q) of positive numbers. If they are near, p - q is exact, and 1 + (p - q) / q would not
// be. If the quotient overflows or is subnormal, the logarithms differ so much that nothing
// cancels.
Expr log_ratio(const Expr& p, const Expr& q) {
  const auto value = [](std::span<const Tensor> in) {
    const Expr p(in[0]), q(in[1]), ratio = p / q;
    const Expr regular = is_finite(ratio) & (ratio >= float_limits(p.dtype()).smallest_normal);
    const Expr far = where(regular, log(ratio), log(p) - log(q));
    return where((ratio > 0.5) & (ratio < 2.0), log1p((p - q) / q), far).tensor();
  };
  const auto rule = [](std::span<const Tensor> in, const Tensor&, std::span<const Tensor> dx) {
    return (Expr(dx[0]) / Expr(in[0]) - Expr(dx[1]) / Expr(in[1])).tensor();
  };
  return Expr(
      scan_internal::with_rule("special::log_ratio", {p.tensor(), q.tensor()}, value, rule));
}

// (e^x - 1) / x for |x| <= 1/2, or its slope, by the series, whose derivatives cancel nothing.
Expr exprel_series(const Expr& x, bool slope = false) {
  std::array<double, 15> coefficients{};  // the highest power first
  double factorial = 1;
  for (size_t k = 1; k <= coefficients.size(); ++k) {
    factorial *= static_cast<double>(slope ? k + 1 : k);
    coefficients[coefficients.size() - k] = (slope ? static_cast<double>(k) : 1) / factorial;
  }
  return polynomial(x, coefficients);
}

// e^x by halves where it may be infinite though its quotient is not.
Expr exprel_of(const Expr& x) {
  const Expr near = abs(x) < 0.5, infinite = x == INFINITY;
  const Expr large = (x > (x.dtype() == f64 ? 700.0 : 88.0)) & ~infinite;
  const Expr safe = where(near | large | infinite, 1.0, x), safe_large = where(large, x, 1.0);
  const Expr half = exp(0.5 * safe_large);
  const Expr far = where(large, half / safe_large * half, expm1(safe) / safe);
  return where(near, exprel_series(where(near, x, 0.0)), where(infinite, INFINITY, far));
}

// (e^x - y) / x, where y is exprel(x) and e^x = 1 + x y.
Expr exprel_slope(const Expr& x, const Expr& y) {
  const Expr near = abs(x) < 0.5, safe = where(near, 1.0, x);
  const Expr rising = y * (1.0 - 1.0 / safe) + 1.0 / safe;
  const Expr falling = (exp(minimum(safe, 0.0)) - y) / safe;
  const Expr by_series = exprel_series(where(near, x, 0.0), /*slope=*/true);
  return where(near, by_series, where(x > 0.0, rising, falling));
}

// (u^lambda - 1) / lambda, given log(u).
Expr box_cox(const Expr& log_u, const Expr& lambda) {
  Expr regular = is_finite(log_u) | (lambda != 0.0);  // 0 times infinity is not a number
  Expr power = lambda * where(regular, log_u, 0.0);
  Expr near = (abs(power) < 0.5) | (lambda == 0.0);
  Expr safe = where(near, 1.0, lambda);
  return where(near, log_u * exprel_series(where(near, power, 0.0)),
               expm1(where(near, 0.0, power)) / safe);
}

}  // namespace

Tensor xlogy(Operand x, Operand y) {
  return evaluate("special::xlogy", {{"x", x}, {"y", y}},
                  [](Arguments v) { return times_log(v[0], v[1], heddle::log); });
}

Tensor xlog1py(Operand x, Operand y) {
  return evaluate("special::xlog1py", {{"x", x}, {"y", y}},
                  [](Arguments v) { return times_log(v[0], v[1], heddle::log1p); });
}

Tensor entr(Operand x) {
  return evaluate("special::entr", {{"x", x}}, [](Arguments v) {
    const Expr& p = v[0];
    return where(p < 0.0, -INFINITY, -times_log(p, p, heddle::log));
  });
}

Tensor rel_entr(Operand p, Operand q) {
  return evaluate("special::rel_entr", {{"p", p}, {"q", q}}, [](Arguments v) {
    Expr both = (v[0] > 0.0) & (v[1] > 0.0);
    Expr one_zero = (v[0] == 0.0) & (v[1] >= 0.0);
    Expr safe_p = where(both, v[0], 1.0);
    Expr safe_q = where(both, v[1], 1.0);
    Expr otherwise = where(is_nan(v[0]) | is_nan(v[1]), v[0] + v[1], INFINITY);
    return where(both, safe_p * log_ratio(safe_p, safe_q), where(one_zero, 0.0, otherwise));
  });
}

Tensor kl_div(Operand p, Operand q) {
  return evaluate("special::kl_div", {{"p", p}, {"q", q}}, [](Arguments v) {
    Expr entropy = rel_entr(v[0].operand(), v[1].operand());
    return entropy - v[0] + v[1];
  });
}

// Its slope is 1 / (x (1 - x)), infinite at 0 and 1.
Tensor logit(Operand x) {
  return evaluate("special::logit", {{"x", x}}, [](Arguments v) {
    const auto value = [](std::span<const Tensor> in) {
      const Expr p(in[0]);
      return log(p / (1.0 - p)).tensor();
    };
    const auto rule = [](std::span<const Tensor> in, const Tensor&, std::span<const Tensor> dx) {
      const Expr p(in[0]);
      return (Expr(dx[0]) / (p * (1.0 - p))).tensor();
    };
    return Expr(scan_internal::with_rule("special::logit", {v[0].tensor()}, value, rule));
  });
}

Tensor expit(Operand x) {
  return evaluate("special::expit", {{"x", x}},
                  [](Arguments v) { return trace_internal::logistic(v[0]); });
}

Tensor boxcox(Operand x, Operand lambda) {
  return evaluate("special::boxcox", {{"x", x}, {"lambda", lambda}},
                  [](Arguments v) { return box_cox(log(v[0]), v[1]); });
}

Tensor boxcox1p(Operand x, Operand lambda) {
  return evaluate("special::boxcox1p", {{"x", x}, {"lambda", lambda}},
                  [](Arguments v) { return box_cox(log1p(v[0]), v[1]); });
}

Tensor exprel(Operand x) {
  return evaluate("special::exprel", {{"x", x}}, [](Arguments v) {
    const auto value = [](std::span<const Tensor> in) { return exprel_of(in[0]).tensor(); };
    const auto rule = [](std::span<const Tensor> in, const Tensor& y, std::span<const Tensor> dx) {
      return (exprel_slope(in[0], y) * Expr(dx[0])).tensor();
    };
    return Expr(scan_internal::with_rule("special::exprel", {v[0].tensor()}, value, rule));
  });
}

Tensor sinc(Operand x) {
  return evaluate("special::sinc", {{"x", x}}, [](Arguments v) {
    // sin(pi x) = (-1)^n sin(pi (x - n)), where x - n is exact for the nearest whole n.
    // Near 0 the series, whose derivatives cancel nothing.
    Expr near = abs(v[0]) < 0.02;
    Expr x = where(near, 1.0, v[0]), t = square(where(near, v[0], 0.0) * std::numbers::pi);
    Expr series = 1.0 - t / 6.0 * (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0)));
    Expr n = floor(x + 0.5);
    Expr sine = sin((x - n) * std::numbers::pi);
    Expr odd = (n - 2.0 * floor(n / 2.0)) != 0.0;
    return where(near, series, where(odd, -sine, sine) / (x * std::numbers::pi));
  });
}

}  // namespace heddle::special
