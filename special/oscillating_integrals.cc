// sici and fresnel: both are a constant less e^(i u) times a slowly varying function, which is the
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

using special_internal::evaluate_all;
using special_internal::polynomial;
using trace_internal::Located;
using trace_internal::PublicCall;
using Arguments = std::span<const Located>;
using std::numbers::pi;

struct Complex {
  Tensor re, im;
  static constexpr auto kFields = fields(field("re", &Complex::re), field("im", &Complex::im));
};
struct Parts {
  Located re, im;
};

// 1 / z for z of a positive imaginary part, which the real part may exceed but a little.
Parts inverse(const Parts& z) {
  const Located ratio = z.re / z.im;
  const Located below = z.im + z.re * ratio;
  return {ratio / below, -1 / below};
}

// gamma(a, i u) e^(i u) / (i u)^a, for u >= 2: 1 / (i u + 1 - a - (1 - a) / (i u + 3 - a - 2 (2 -
// a) / (i u + 5 - a - ..))), from the last fraction to the first. The imaginary parts are u or
// more.
Parts incomplete_gamma(double a, const Located& u) {
  const int64_t depth = u.dtype() == f64 ? 100 : 24;
  auto step = [&](const Tensor& i, const Complex& below) {
    const Located k = depth - u.with(i).astype(u.dtype());
    const Located size = k * (k - a);
    const Parts part = inverse({u.with(below.re), u.with(below.im)});
    return Complex{(2 * k - (1 + a) - size * part.re).tensor(), (u - size * part.im).tensor()};
  };
  const Complex start{u.like(static_cast<double>(2 * depth + 1) - a).tensor(), u.tensor()};
  const Complex end =
      fori_loop({0, u.at()}, {static_cast<int32_t>(depth), u.at()}, step, start, u.at());
  return inverse({u.with(end.re), u.with(end.im)});
}

// The sum over powers p = first, first + 2, .. of +-v^((p - first) / 2) / (p! divisor(p)): the
// series of all four functions near 0.
template <class Divisor>
Located alternating(const Located& v, int first, Divisor divisor) {
  std::vector<double> coefficients;
  double factorial = first == 2 ? 2 : 1;
  for (int k = 0; k < 14; ++k) {
    const int power = first + 2 * k;
    if (k > 0) factorial *= power * (power - 1);
    coefficients.insert(coefficients.begin(), (k % 2 == 0 ? 1 : -1) / (factorial * divisor(power)));
  }
  return polynomial(v, coefficients);
}

std::vector<Located> sici_of(const Located& x) {
  const Located size = abs(x), low = minimum(size, 2), v = square(low);
  auto power_itself = [](int power) { return power; };
  const Located near_si = low * alternating(v, 1, power_itself);
  const Located near_ci = std::numbers::egamma + log(low) - v * alternating(v, 2, power_itself);

  const Located high = maximum(size, 2);
  const Located angle = where(high == INFINITY, 0, high);
  const Located s = sin(angle), c = cos(angle);
  const Parts f = incomplete_gamma(0, high);
  const Located si = where(size <= 2, near_si, pi / 2 + (c * f.im - s * f.re));
  const Located ci = where(size <= 2, near_ci, -(c * f.re + s * f.im));
  return {where(is_nan(x), x, where(x < 0, -si, where(x == 0, x, si))),
          where(is_nan(x) | (x == -INFINITY), NAN, ci)};
}

// pi x^2 / 2 less a multiple of 2 pi. x = n + d with a whole n: n d has no more digits than x.
Located reduced_angle(const Located& x) {
  const Located n = x.with(round(x.operand())), d = x - n;
  const Located quarters = n % 2 + (2 * n * d) % 4 + square(d);
  return pi / 2 * (quarters - 4 * x.with(round((quarters * 0.25).operand())));
}

std::vector<Located> fresnel_of(const Located& x) {
  const Located size = minimum(abs(x), 1e30);
  const Located low = minimum(maximum(x, -1.26), 1.26);
  const Located u = pi / 2 * square(low), v = square(u);
  auto of_square_root = [](int power) { return 2 * power + 1; };
  const Located near_s = low * (u * alternating(v, 1, of_square_root));
  const Located near_c = low * alternating(v, 0, of_square_root);

  const Located high = maximum(size, 1.26);
  const Located angle = reduced_angle(high), s = sin(angle), c = cos(angle);
  const Parts f = incomplete_gamma(0.5, pi / 2 * square(high));
  const Located half = 0.5 * high;
  const Located far_s = 0.5 - half * (s * f.re - c * f.im);
  const Located far_c = 0.5 - half * (c * f.re + s * f.im);
  auto whole = [&](const Located& near, const Located& far) {
    return where(is_nan(x), x, where(size <= 1.26, near, where(x < 0, -far, far)));
  };
  return {whole(near_s, far_s), whole(near_c, far_c)};
}

}  // namespace

SineCosineIntegrals sici(Operand x) {
  const PublicCall call("special::sici", x.at());
  std::vector<Tensor> parts =
      evaluate_all("special::sici", {x}, [](Arguments v) { return sici_of(v[0]); });
  return {parts[0], parts[1]};
}

FresnelIntegrals fresnel(Operand x) {
  const PublicCall call("special::fresnel", x.at());
  std::vector<Tensor> parts =
      evaluate_all("special::fresnel", {x}, [](Arguments v) { return fresnel_of(v[0]); });
  return {parts[0], parts[1]};
}

}  // namespace heddle::special
