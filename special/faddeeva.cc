#include "heddle/special/faddeeva.h"

#include <cmath>
#include <numbers>

#include "heddle/special/internal/squares.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::special {
namespace {

using special_internal::split_square;
using special_internal::Square;
using std::numbers::inv_sqrtpi;

struct FaddeevaParts {
  Expr re, im;
};
FaddeevaParts choose(const Expr& condition, const FaddeevaParts& a, const FaddeevaParts& b) {
  return {where(condition, a.re, b.re), where(condition, a.im, b.im)};
}

// i h / pi times the sum of e^-t^2 (1 / (z - t) + 1 / (z + t)), over the points t = (k + offset) h.
// The point 0, which is its own mirror image, counts once.
FaddeevaParts rule(const Expr& x, const Expr& y, double h, double offset, int points) {
  FaddeevaParts sum{x.like(0), x.like(0)};
  for (int k = points - 1; k >= 0; --k) {
    const double t = (k + offset) * h;
    const double weight = h / pi * std::exp(-t * t) * (t == 0 ? 0.5 : 1);
    const Expr right = x - t, left = x + t;
    const Expr a = square(right) + square(y), b = square(left) + square(y);
    const Expr share = (2 * weight) * (right * left + square(y)) / a / b;
    sum = {sum.re + (weight / a + weight / b) * y, sum.im + share * x};
  }
  return sum;
}

// e^(-z^2).
FaddeevaParts bell_at(const Expr& x, const Expr& y) {
  const Square p = split_square(x), q = split_square(y);
  const Expr size = exp(q.exact - p.exact) * exp(q.rest - p.rest), angle = 2 * (x * y);
  // An infinite size has an argument too.
  return {size * cos(angle), where((angle == 0) & (size == INFINITY), 0, -size * sin(angle))};
}

// 2 e^(-z^2) q / (q + sign e^(-2 pi i x / h)), q = e^(-2 pi y / h): the term that a rule leaves
// out.
FaddeevaParts correction(const FaddeevaParts& bell, const Expr& turns, const Expr& q, double sign) {
  const Expr angle = 2 * pi * turns;
  const Expr re = q + sign * cos(angle), im = -sign * sin(angle);
  const Expr scale = 2 * q / (square(re) + square(im));
  return {scale * (bell.re * re + bell.im * im), scale * (bell.im * re - bell.re * im)};
}

// For x, y >= 0 and not large.
FaddeevaParts near_origin(const Expr& x, const Expr& y) {
  const int points = x.dtype() == f64 ? 12 : 7;
  const double h = std::sqrt(pi / points);
  // Close to the real axis the real part of the sum is far smaller than the imaginary one, so it
  // needs the points up to e^-41 (f64: e^-55).
  const int all = points + 3;
  const Expr turns = x / h - floor(x / h), q = exp(-2 * pi / h * y);
  const FaddeevaParts middle = rule(x, y, h, 0.5, all);
  // A point of the other rule is at least h / 4 away from x; a point of this rule may be x itself.
  const Expr between = (y < x) & (turns >= 0.25) & (turns <= 0.75);
  const FaddeevaParts ends = rule(where(between, x, 1), where(between, y, 1), h, 0, all);
  const FaddeevaParts bell = bell_at(at_most(x, 100), at_most(y, 7));
  const FaddeevaParts more = choose(between, correction(bell, where(between, turns, 0.5), q, -1),
                                    correction(bell, where(between, 0, turns), q, 1));
  const FaddeevaParts sum = choose(between, ends, middle);
  return choose(y >= maximum(x, pi / h), middle, {sum.re + more.re, sum.im + more.im});
}

// i / (sqrt(pi) z) for x, y >= 0, one of them large.
FaddeevaParts far_out(const Expr& x, const Expr& y) {
  const auto [low, high] = ordered(x, y);
  const Expr ratio = low / high, large = inv_sqrtpi / (high + low * ratio);
  return choose(x >= y, {large * ratio, large}, {large, large * ratio});
}

std::vector<Expr> wofz_of(const Expr& x, const Expr& y) {
  const double bound = x.dtype() == f64 ? 1e8 : 1e4;
  const Expr p = mirrored(x), q = mirrored(y), high = maximum(p, q);
  const FaddeevaParts near = near_origin(at_most(p, bound), at_most(q, bound));
  const FaddeevaParts far = far_out(where(high > bound, p, 1), where(high > bound, q, 1));
  const FaddeevaParts above =
      choose(high == INFINITY, {x.like(0), x.like(0)}, choose(high > bound, far, near));
  // 2 e^(-z^2) - w(-z) for y < 0, and the conjugate for x < 0.
  const FaddeevaParts bell = bell_at(at_most(p, 1e18), -at_most(where(y < 0, q, 0), 1e18));
  const FaddeevaParts value =
      choose(y < 0, {2 * bell.re - above.re, 2 * bell.im + above.im}, above);
  const Expr bad = is_nan(x) | is_nan(y);
  return {where(bad, NAN, value.re), where(bad, NAN, where(x < 0, -value.im, value.im))};
}

}  // namespace

Tensor wofz(Operand z) {
  const PublicCall call("special::wofz", z.at());
  return trace_internal::one_program("special::wofz", [&] {
    const Tensor given = as_tensor(z);
    const bool is_real = !is_complex(given.dtype());
    const Tensor x = is_real ? given : real(given);
    const Tensor y = is_real ? zeros_like(given) : imag(given);
    std::vector<Tensor> parts = evaluate_all("special::wofz", {{"x", x}, {"y", y}},
                                             [](Arguments v) { return wofz_of(v[0], v[1]); });
    const DType wide = x.dtype() == f64 ? f64 : f32;
    return complex(parts[0].astype(wide), parts[1].astype(wide));
  });
}

}  // namespace heddle::special
