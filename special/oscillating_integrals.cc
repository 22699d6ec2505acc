// sici and fresnel. Both are a constant minus e^(i u) times a slowly varying function, the
// incomplete gamma function of i u.
#include <cmath>
#include <numbers>

#include "heddle/scan/loops.h"
#include "heddle/special/integrals.h"
#include "heddle/special/internal/formula.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tree.h"

namespace heddle::special {
namespace {

struct Complex {
  Tensor re, im;
  static constexpr auto kFields = fields(field("re", &Complex::re), field("im", &Complex::im));
};
struct FresnelParts {
  Expr re, im;
};

// 1 / z for z with a positive imaginary part, which the real part may exceed only a little.
FresnelParts reciprocal(const FresnelParts& z) {
  const Expr ratio = z.re / z.im;
  const Expr below = z.im + z.re * ratio;
  return {ratio / below, -1 / below};
}

// gamma(a, i u) e^(i u) / (i u)^a, for u >= 2: 1 / (i u + 1 - a - (1 - a) / (i u + 3 - a - 2 (2 -
// a) / (i u + 5 - a - ..))), from the last fraction to the first. The imaginary parts are u or
// more.
FresnelParts incomplete_gamma(double a, const Expr& u) {
  const int64_t depth = u.dtype() == f64 ? 100 : 24;
  auto step = [&](const Tensor& i, const Complex& below) {
    const Expr k = depth - Expr(i).astype(u.dtype());
    const Expr size = k * (k - a);
    const FresnelParts part = reciprocal({Expr(below.re), Expr(below.im)});
    return Complex{(2 * k - (1 + a) - size * part.re).tensor(), (u - size * part.im).tensor()};
  };
  const Complex start{u.like(static_cast<double>(2 * depth + 1) - a).tensor(), u.tensor()};
  const Complex end = fori_loop(0, static_cast<int32_t>(depth), step, start);
  return reciprocal({Expr(end.re), Expr(end.im)});
}

// The sum over powers p = first, first + 2, .. of +-v^((p - first) / 2) / (p! divisor(p)): the
// series of all four functions near 0.
template <class Divisor>
Expr alternating(const Expr& v, int first, Divisor divisor) {
  std::vector<double> coefficients;
  double factorial = first == 2 ? 2 : 1;
  for (int k = 0; k < 14; ++k) {
    const int power = first + 2 * k;
    if (k > 0) factorial *= power * (power - 1);
    coefficients.insert(coefficients.begin(), (k % 2 == 0 ? 1 : -1) / (factorial * divisor(power)));
  }
  return polynomial(v, coefficients);
}

std::vector<Expr> sici_of(const Expr& x) {
  const Expr size = abs(x), low = at_most(size, 2), v = square(low);
  auto power_itself = [](int power) { return power; };
  const Expr near_si = low * alternating(v, 1, power_itself);
  const Expr near_ci = std::numbers::egamma + log(low) - v * alternating(v, 2, power_itself);

  const Expr high = at_least(size, 2);
  const Expr angle = where(high == INFINITY, 0, high);
  const Expr s = sin(angle), c = cos(angle);
  const FresnelParts f = incomplete_gamma(0, high);
  const Expr si = where(size <= 2, near_si, pi / 2 + (c * f.im - s * f.re));
  const Expr ci = where(size <= 2, near_ci, -(c * f.re + s * f.im));
  return {where(is_nan(x), x, where(x < 0, -si, where(x == 0, x, si))),
          where(is_nan(x) | (x == -INFINITY), NAN, ci)};
}

// pi x^2 / 2 minus a multiple of 2 pi. x = n + d with a whole n: n d has no more digits than x.
Expr reduced_angle(const Expr& x) {
  const Expr n = Expr(round(x.operand())), d = x - n;
  const Expr quarters = n % 2 + (2 * n * d) % 4 + square(d);
  return pi / 2 * (quarters - 4 * Expr(round((quarters * 0.25).operand())));
}

std::vector<Expr> fresnel_of(const Expr& x) {
  const Expr size = at_most(abs(x), 1e30);
  const Expr low = at_most(at_least(x, -1.26), 1.26);
  const Expr u = pi / 2 * square(low), v = square(u);
  auto of_square_root = [](int power) { return 2 * power + 1; };
  const Expr near_s = low * (u * alternating(v, 1, of_square_root));
  const Expr near_c = low * alternating(v, 0, of_square_root);

  const Expr high = at_least(size, 1.26);
  const Expr angle = reduced_angle(high), s = sin(angle), c = cos(angle);
  const FresnelParts f = incomplete_gamma(0.5, pi / 2 * square(high));
  const Expr half = 0.5 * high;
  const Expr far_s = 0.5 - half * (s * f.re - c * f.im);
  const Expr far_c = 0.5 - half * (c * f.re + s * f.im);
  auto whole = [&](const Expr& near, const Expr& far) {
    return where(is_nan(x), x, where(size <= 1.26, near, where(x < 0, -far, far)));
  };
  return {whole(near_s, far_s), whole(near_c, far_c)};
}

}  // namespace

SineCosineIntegrals sici(Operand x) {
  const PublicCall call("special::sici", x.at());
  std::vector<Tensor> parts =
      evaluate_all("special::sici", {{"x", x}}, [](Arguments v) { return sici_of(v[0]); });
  return {parts[0], parts[1]};
}

FresnelIntegrals fresnel(Operand x) {
  const PublicCall call("special::fresnel", x.at());
  std::vector<Tensor> parts =
      evaluate_all("special::fresnel", {{"x", x}}, [](Arguments v) { return fresnel_of(v[0]); });
  return {parts[0], parts[1]};
}

}  // namespace heddle::special
