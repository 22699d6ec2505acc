#include "heddle/special/loggamma.h"

#include <cmath>
#include <numbers>

#include "heddle/special/gamma.h"
#include "heddle/special/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::special {
namespace {

using std::numbers::ln2;

struct ComplexParts {
  Expr re, im;
};
ComplexParts operator+(const ComplexParts& a, const ComplexParts& b) {
  return {a.re + b.re, a.im + b.im};
}
ComplexParts operator-(const ComplexParts& a, const ComplexParts& b) {
  return {a.re - b.re, a.im - b.im};
}
ComplexParts operator*(const ComplexParts& a, const ComplexParts& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

Expr angle_of(const ComplexParts& z) { return atan2(z.im.operand(), z.re.operand()); }

// The principal logarithm; |z|^2 may overflow.
ComplexParts log_of(const ComplexParts& z) {
  const auto [low, high] = ordered(mirrored(z.re), mirrored(z.im));
  return {log(high) + 0.5 * log1p(square(low / high)), angle_of(z)};
}

// 1 / z for Re z >= 10.
ComplexParts inverse(const ComplexParts& z) {
  const Expr high = at_least(z.re, mirrored(z.im));
  const Expr a = z.re / high, b = z.im / high, size = (square(a) + square(b)) * high;
  return {a / size, -b / size};
}

// B_2k / (2k (2k - 1)) from k = 10 down.
constexpr double kStirling[] = {-174611.0 / 125400, 43867.0 / 244188, -3617.0 / 122400, 1.0 / 156,
                                -691.0 / 360360,    1.0 / 1188,       -1.0 / 1680,      1.0 / 1260,
                                -1.0 / 360,         1.0 / 12};
constexpr int kStepsUp = 10;

// For Re z >= 1/2, as a sum of logarithms. Each is in its own branch, and so is the sum.
ComplexParts right_half(const ComplexParts& z) {
  ComplexParts below{z.re.like(0), z.re.like(0)};
  for (int k = 0; k < kStepsUp; ++k) below = below + log_of({z.re + k, z.im});
  const ComplexParts shifted{z.re + kStepsUp, z.im}, u = inverse(shifted), v = u * u;
  ComplexParts sum{z.re.like(0), z.re.like(0)};
  for (double c : kStirling) {
    const ComplexParts product = sum * v;
    sum = {product.re + c, product.im};
  }
  const ComplexParts power = ComplexParts{shifted.re - 0.5, shifted.im} * log_of(shifted);
  const ComplexParts main{power.re - shifted.re + 0.5 * std::log(2 * pi), power.im - shifted.im};
  return main + sum * u - below;
}

// log(sin(pi z)) for Im z >= 0, from z = 1/2 on: i pi / 2 - log(2) - i pi z + log(1 - e^(2 pi i
// z)).
ComplexParts log_sine(const ComplexParts& z) {
  const Expr part = z.re - Expr(round(z.re.operand()));
  const Expr q = exp(-2 * pi * z.im);
  const ComplexParts rest{2 * q * square(sin(pi * part)) - expm1(-2 * pi * z.im),
                          -q * sin(2 * pi * part)};
  const ComplexParts log_rest = log_of(rest);
  return {log_rest.re + pi * z.im - ln2, log_rest.im + pi * (0.5 - z.re)};
}

std::vector<Expr> loggamma_of(const Expr& x, const Expr& given) {
  const Expr y = mirrored(given), left = x < 0.5;
  // 1 - z lies below the real axis, so its conjugate is used.
  const ComplexParts far = right_half({where(left, 1 - x, x), y});
  const ComplexParts sine = log_sine({where(left, x, 0.25), y});
  const Expr re = where(left, std::log(pi) - sine.re - far.re, far.re);
  const Expr im = where(left, far.im - sine.im, far.im);
  const Expr bad = is_nan(x) | is_nan(y) | ((y == 0) & (x <= 0) & (x == floor(x)));
  return {where(bad, NAN, re), where(bad, NAN, where(given < 0, -im, im))};
}

}  // namespace

Tensor loggamma(Operand z) {
  const PublicCall call("special::loggamma", z.at());
  return trace_internal::one_program("special::loggamma", [&] {
    const Tensor given = as_tensor(z);
    if (!is_complex(given.dtype()))
      return evaluate("special::loggamma", {{"z", z}}, [](Arguments v) {
        return where(v[0] > 0, Expr(lgamma(v[0].operand())), NAN);
      });
    std::vector<Tensor> parts =
        evaluate_all("special::loggamma", {{"z", real(given)}, {"z", imag(given)}},
                     [](Arguments v) { return loggamma_of(v[0], v[1]); });
    return complex(parts[0], parts[1]);
  });
}

}  // namespace heddle::special
