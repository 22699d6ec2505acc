#include "heddle/special/combinatorics.h"

#include <cmath>
#include <numbers>

#include "heddle/scan/own_rule.h"
#include "heddle/special/gamma.h"
#include "heddle/special/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::special {
namespace {

Expr gamma_at(const Expr& x) { return gamma(x.operand()); }
Expr lgamma_at(const Expr& x) { return lgamma(x.operand()); }
Expr sign_at(const Expr& x) { return gammasgn(x.operand()); }
Expr is_whole(const Expr& x) { return x == floor(x); }

// The nearest whole number where `exact` and x is finite, with x's slope: a bitcast stops that of
// the correction.
Expr rounded_where(const Expr& exact, const Expr& x) {
  const Expr rounds = exact & is_finite(x), safe = where(rounds, x, 0);
  return x + Expr(bitcast_convert((Expr(round(safe.operand())) - safe).operand(), x.dtype()));
}

// 1 / ((n + 1) beta(n - k + 1, k + 1)), which does not overflow before the result does.
Expr comb_of(const Expr& n, const Expr& k) {
  const Expr inside = (k >= 0) & (k <= n);
  const Expr top = where(inside, n, 0), chosen = where(inside, k, 0);
  const Expr rest = top - chosen + 1, taken = chosen + 1;
  const Expr log_beta = betaln(rest.operand(), taken.operand());
  const Expr ways = exp(-log_beta) / (top + 1);
  const Expr count = rounded_where(is_whole(top) & is_whole(chosen), ways);
  return where(is_nan(n) | is_nan(k), NAN, where(inside, count, 0));
}

// gamma(sum) / gamma(x) at a pole of gamma(x), where it is 0: gamma(sum) gamma(1 - x) sin(pi x) /
// pi, whose slope is not 0.
Expr poch_at_zero(const Expr& x, const Expr& sum) {
  const Expr n = floor(x + 0.5), sine = sin(pi * (x - n));
  const Expr size = exp(lgamma_at(sum) + lgamma_at(1 - x)) * sign_at(sum) / pi;
  return size * where(abs(n) % 2 == 1, -sine, sine);
}

// psi(x + m) - psi(x) for both above 32. source: DLMF 5.11.2, term by term
Expr digamma_difference(const Expr& x, const Expr& m) {
  constexpr double kTerms[] = {1 / 132.0, -1 / 240.0, 1 / 252.0, -1 / 120.0, 1 / 12.0};
  const auto rest = [&](const Expr& z) {
    const Expr t = 1 / z;
    return t * (0.5 + t * polynomial(t * t, kTerms));
  };
  return log1p(m / x) + (rest(x) - rest(x + m));
}

// Where x and x + m are above 32: gamma(m) / beta(x, m), whose logarithms do not cancel.
Expr poch_of_large(const Expr& x, const Expr& m) {
  const auto value = [](std::span<const Tensor> in) {
    const Expr x(in[0]), m(in[1]), falls = m < 0;
    const Expr step = abs(m), from = where(falls, x + m, x);
    const Expr rise = lgamma_at(step) - Expr(betaln(from.operand(), step.operand()));
    return where(m == 0, 1, exp(where(falls, -rise, rise))).tensor();
  };
  const auto rule = [](std::span<const Tensor> in, const Tensor& y, std::span<const Tensor> dx) {
    const Expr x(in[0]), m(in[1]), by_m = digamma((x + m).operand());
    return (Expr(y) * (digamma_difference(x, m) * Expr(dx[0]) + by_m * Expr(dx[1]))).tensor();
  };
  return Expr(scan_internal::with_rule("special::poch", {x.tensor(), m.tensor()}, value, rule));
}

// It depends on the sizes and signs of both. At a pole of both it uses the reflection formula,
// where x (x + 1) .. runs up to 0.
Expr poch_of(const Expr& x, const Expr& m) {
  const Expr sum = x + m, pole = is_pole(x), both = pole & is_pole(sum), zero = pole & ~both;
  const Expr top = where(pole, 1, sum), bottom = where(pole, 1, x);
  const Expr by_size = exp(lgamma_at(top) - lgamma_at(bottom)) * sign_at(top) * sign_at(bottom);
  const Expr large = minimum(x, sum) > 32;
  const Expr by_beta = poch_of_large(where(large, x, 33), where(large, m, 1));
  const Expr up = where(both, 1 - x, 1), left = where(both, 1 - sum, 1);
  const Expr turned = exp(lgamma_at(up) - lgamma_at(left));
  const Expr reflected = where(abs(m) % 2 == 1, -turned, turned);
  const Expr vanishing = poch_at_zero(where(zero, x, 0), where(zero, sum, 1));
  const Expr value = where(both, reflected, where(zero, vanishing, where(large, by_beta, by_size)));
  return where((m == 0) & ~is_finite(value), 1, value);
}

// Riemann's zeta from 18 on: the next term is 1e-20.
long double zeta_from_18(int64_t s) {
  long double sum = 1;
  for (int base = 2; base <= 13; ++base) sum += std::pow(static_cast<long double>(base), -s);
  return sum;
}

// B_0, B_2, ..
std::vector<long double> even_bernoulli(int64_t count) {
  std::vector<long double> b = {
      1,         1 / 6.0L,       -1 / 30.0L, 1 / 42.0L,      -1 / 30.0L,
      5 / 66.0L, -691 / 2730.0L, 7 / 6.0L,   -3617 / 510.0L, 43867 / 798.0L};
  constexpr long double kPi = std::numbers::pi_v<long double>;
  for (auto k = static_cast<int64_t>(b.size()); k < count; ++k) {
    const auto n = static_cast<long double>(2 * k);
    const long double zetas = zeta_from_18(2 * k) / zeta_from_18(2 * k - 2);
    b.push_back(-b.back() * (n * (n - 1) / (4 * kPi * kPi)) * zetas);
  }
  b.resize(static_cast<size_t>(count));
  return b;
}

}  // namespace

Tensor factorial(Operand n) {
  return evaluate("special::factorial", {{"n", n}}, [](Arguments v) {
    const Expr value = gamma_at(maximum(v[0], 0) + 1);
    return where(v[0] < 0, 0, rounded_where(is_whole(v[0]), value));
  });
}

Tensor comb(Operand n, Operand k) { return evaluate("special::comb", {"n", n}, {"k", k}, comb_of); }

Tensor poch(Operand x, Operand m) { return evaluate("special::poch", {"x", x}, {"m", m}, poch_of); }

Tensor multigammaln(Operand x, base::Int d) {
  const PublicCall call("special::multigammaln", x.at());
  if (d < 1) trace_internal::refuse("d is ", d, "; it must be 1 or more");
  return evaluate("special::multigammaln", {{"x", x}}, [&](Arguments v) {
    const double half = static_cast<double>(d - 1) / 2;
    Expr out = v[0].like(static_cast<double>(d) * half / 2 * std::log(std::numbers::pi));
    for (int64_t j = 0; j < d; ++j) out = out + lgamma_at(v[0] - static_cast<double>(j) / 2);
    return where(v[0] > half, out, NAN);
  });
}

Tensor bernoulli(base::Int n, DType dtype, SourceLocation at) {
  const PublicCall call("special::bernoulli", at);
  constexpr int64_t kMost = 1 << 20;  // all beyond 258 are infinite
  if (n < 0 || n > kMost || !is_floating(dtype))
    trace_internal::refuse("n is ", n, " and dtype ", to_string(dtype), "; n must be in 0 .. ",
                           kMost, " and dtype of floats");
  std::vector<double> values(static_cast<size_t>(n) + 1);
  const std::vector<long double> even = even_bernoulli(n / 2 + 1);
  for (size_t k = 0; k < even.size(); ++k) values[2 * k] = static_cast<double>(even[k]);
  if (n > 0) values[1] = -0.5;
  return trace_internal::one_program("special::bernoulli",
                                     [&] { return array(values, {n + 1}).astype(dtype); });
}

}  // namespace heddle::special
