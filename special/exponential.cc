#include "heddle/special/exponential.h"

#include <array>
#include <cmath>
#include <numbers>

#include "heddle/scan/loops.h"
#include "heddle/special/internal/formula.h"
#include "heddle/trace/tree.h"

namespace heddle::special {
namespace {

// sum over k of (-1)^(k+1) x^k / (k k!), for x up to 1.
Expr entire_part(const Expr& x) {
  std::array<double, 21> coefficients{};  // the highest power first
  double factorial = 1;
  for (size_t k = 1; k < coefficients.size(); ++k) {
    factorial *= static_cast<double>(k);
    const double size = 1 / (static_cast<double>(k) * factorial);
    coefficients[coefficients.size() - 1 - k] = k % 2 == 1 ? size : -size;
  }
  return polynomial(x, coefficients);
}

// x + 1 - 1 / (x + 3 - 4 / (x + 5 - ..)), for x >= 1, from the last fraction to the first.
Expr fractions(const Expr& x) {
  const int64_t depth = x.dtype() == f64 ? 100 : 30;
  auto step = [&](const Tensor& i, const Tensor& below) {
    const Expr k = depth - Expr(i).astype(x.dtype());
    return (x + (2 * k - 1) - square(k) / Expr(below)).tensor();
  };
  const Tensor start = (x + static_cast<double>(2 * depth + 1)).tensor();
  return Expr(fori_loop(0, static_cast<int32_t>(depth), step, start));
}

// For x > 0.
Expr exp1_of(const Expr& x) {
  const Expr low = at_most(x, 1), high = at_least(x, 1);
  const Expr near = entire_part(low) - std::numbers::egamma - log(low);
  return where(x <= 1, near, exp(-high) / fractions(high));
}

struct Series {
  Tensor term;  // x^k / k!
  Tensor sum;   // of term / k
  static constexpr auto kFields = fields(field("term", &Series::term), field("sum", &Series::sum));
};

// egamma + log(x) + sum of x^k / (k k!), for 0 < x <= 40.
Expr rising_series(const Expr& x) {
  auto step = [&](const Tensor& i, const Series& s) {
    const Expr k = Expr(i).astype(x.dtype()) + 1;
    const Expr term = Expr(s.term) * x / k;
    return Series{term.tensor(), (Expr(s.sum) + term / k).tensor()};
  };
  const Series start{x.like(1).tensor(), x.like(0).tensor()};
  const Series end = fori_loop(0, 150, step, start);
  return Expr(end.sum) + log(x) + std::numbers::egamma;
}

// e^x / x (1 + 1! / x + 2! / x^2 + ..), for x > 40; e^x in two parts, since it overflows first.
Expr asymptotic(const Expr& x) {
  Expr sum = x.like(1);
  for (int k = 40; k > 0; --k) sum = sum * static_cast<double>(k) / x + 1;
  const Expr half = exp(x * 0.5);
  return half * (half / x * sum);
}

Expr expi_of(const Expr& x) {
  const Expr size = abs(x);
  const Expr near = rising_series(at_most(where(x > 0, x, 1), 40));
  // Beyond `most` it is infinite, and so are its derivatives.
  const double most = x.dtype() == f64 ? 716.35549 : 93.247185;
  const Expr far = asymptotic(at_most(at_least(x, 40), most));
  const Expr above = where(x <= 40, near, where(x > most, exp(x), far));
  return where(x == 0, -INFINITY, where(x < 0, -exp1_of(size), where(is_nan(x), x, above)));
}

// x (1 - 2 x^2 / 3 (1 - 2 x^2 / 5 (..))), for |x| <= 1/2.
Expr dawson_series(const Expr& x) {
  const Expr step = square(x) * -2;
  Expr sum = x.like(1);
  for (int k = 14; k > 0; --k) sum = sum * step / static_cast<double>(2 * k + 1) + 1;
  return x * sum;
}

// 1 / sqrt(pi) times the sum over odd n of e^-(x - n h)^2 / n, about the even n next to x / h.
Expr dawson_samples(const Expr& x) {
  constexpr double kStep = 0.25;
  const Expr centre = Expr(round((x / (2 * kStep)).operand())) * 2;
  const Expr rest = x - centre * kStep;
  Expr sum = x.like(0);
  for (int n = -25; n <= 25; n += 2)
    sum = sum + exp(-square(rest - n * kStep)) / (centre + static_cast<double>(n));
  return sum / std::sqrt(std::numbers::pi);
}

Expr dawson_of(const Expr& x) {
  const Expr size = abs(x);
  const Expr middle = dawson_samples(at_least(at_most(size, 1000), 0.5));
  // Beyond 1000 the expansion 1 / (2 x) (1 + 1 / (2 x^2)).
  const Expr half = 0.5 / at_least(size, 1000);
  const Expr far = half * (1 + 2 * square(half));
  const Expr above = where(size > 1000, far, middle);
  return where(is_nan(x), x,
               where(size <= 0.5, dawson_series(at_most(at_least(x, -0.5), 0.5)),
                     where(x < 0, -above, above)));
}

}  // namespace

Tensor exp1(Operand x) {
  return evaluate("special::exp1", {{"x", x}}, [](Arguments v) {
    const Expr positive = where(v[0] > 0, v[0], 1);
    const Expr limit = where(v[0] == 0, v[0].like(INFINITY), NAN);
    return where(v[0] > 0, exp1_of(positive), limit);
  });
}

Tensor expi(Operand x) { return evaluate("special::expi", {"x", x}, expi_of); }

Tensor dawsn(Operand x) { return evaluate("special::dawsn", {"x", x}, dawson_of); }

}  // namespace heddle::special
