#include "heddle/special/integrals.h"

#include <array>
#include <cmath>
#include <numbers>

#include "heddle/scan/loops.h"
#include "heddle/special/internal/squares.h"
#include "heddle/special/normal.h"
#include "heddle/trace/tree.h"

namespace heddle::special {
namespace {

using special_internal::exp_of_square;
using std::numbers::egamma;

// 1 / B_2k, Bernoulli's numbers, from k = 9 down.
constexpr double kInverseBernoulli[] = {
    798.0 / 43867, -510.0 / 3617, 6.0 / 7, -2730.0 / 691, 66.0 / 5, -30, 42, -30, 6};

// u - u^2 / 4 + sum of B_2k u^(2k + 1) / (2k + 1)!, u = -log(x), for 1/2 <= x <= 2.
Expr spence_series(const Expr& x) {
  std::array<double, std::size(kInverseBernoulli)> coefficients{};
  double factorial = 1;
  for (size_t k = 1; k <= coefficients.size(); ++k) {
    factorial *= static_cast<double>(2 * k * (2 * k + 1));
    const size_t place = coefficients.size() - k;
    coefficients[place] = 1 / (kInverseBernoulli[place] * factorial);
  }
  const Expr u = -log(x), square_of = square(u);
  return u * (square_of * polynomial(square_of, coefficients) + (1 - 0.25 * u));
}

// For 0 <= x <= 1.
Expr spence_inside(const Expr& x) {
  const Expr low = at_most(x, 0.5);
  // For x = 0 the product is 0, and must not be infinity times 0.
  const Expr logs = log(at_least(low, float_limits(x.dtype()).smallest_normal)) * log1p(-low);
  const Expr reflected = pi * pi / 6 - logs - spence_series(1 - low);
  return where(x < 0.5, reflected, spence_series(at_least(x, 0.5)));
}

Expr spence_of(const Expr& x) {
  const Expr large = at_least(x, 2), bounded = at_most(at_least(x, 0), 2);
  const Expr turned = -0.5 * square(log(large)) - spence_inside(1 / large);
  const Expr near =
      where(x < 1, spence_inside(at_most(bounded, 1)), spence_series(at_least(bounded, 1)));
  return where((x < 0) | is_nan(x), NAN, where(x > 2, turned, near));
}

struct IntegralTerms {
  Tensor term;      // (-x)^k / k!
  Tensor harmonic;  // 1 + .. + 1 / k
  Tensor sum;
  static constexpr auto kFields =
      fields(field("term", &IntegralTerms::term), field("harmonic", &IntegralTerms::harmonic),
             field("sum", &IntegralTerms::sum));
};

// The sum of (-x)^k / (k! (n - 1 - k)), where for k = n - 1 stands (-x)^k / k! (digamma(n) -
// log(x)); for 0 < x <= 1.
Expr rising(const Expr& n, const Expr& x) {
  const Expr log_x = log(x);
  auto step = [&](const Tensor& i, const IntegralTerms& s) {
    const Expr k = Expr(i).astype(x.dtype());
    const Expr term = Expr(s.term), harmonic = Expr(s.harmonic);
    const Expr rest = n - 1 - k;
    const Expr safe = where(rest == 0, 1, rest);
    const Expr added = where(rest == 0, term * (harmonic - egamma - log_x), term / safe);
    return IntegralTerms{(term * -x / (k + 1)).tensor(), (harmonic + 1 / (k + 1)).tensor(),
                         (Expr(s.sum) + added).tensor()};
  };
  const Tensor zero = x.like(0).tensor();
  return Expr(fori_loop(0, 20, step, IntegralTerms{x.like(1).tensor(), zero, zero}).sum);
}

// x + n - n / (x + n + 2 - 2 (n + 1) / (x + n + 4 - ..)), for x >= 1, from the last fraction to the
// first.
Expr fractions(const Expr& n, const Expr& x) {
  const int64_t depth = x.dtype() == f64 ? 100 : 30;
  auto step = [&](const Tensor& i, const Tensor& below) {
    const Expr k = depth - Expr(i).astype(x.dtype());
    return (x + n + 2 * (k - 1) - k * (k + n - 1) / Expr(below)).tensor();
  };
  const Tensor start = (x + n + static_cast<double>(2 * depth)).tensor();
  return Expr(fori_loop(0, static_cast<int32_t>(depth), step, start));
}

Expr expn_of(const Expr& n, const Expr& x) {
  const Expr outside = (n < 0) | (x < 0) | (n != floor(n)) | is_nan(n) | is_nan(x);
  const Expr order = at_most(at_least(n, 1), 1e30);
  const Expr low = where((x > 0) & (x <= 1), x, 1), high = where(x > 1, x, 1);
  const Expr inside = where(x > 1, exp(-high) / fractions(order, high), rising(order, low));
  const Expr at_zero = where(n < 2, INFINITY, 1 / (at_least(n, 2) - 1));
  const Expr safe = where((n == 0) & (x > 0), x, 1);  // avoids the slope of a pole that is not used
  const Expr at_0 = where(x > 0, exp(-safe) / safe, INFINITY);
  const Expr positive = where(n == 0, at_0, where(n == INFINITY, 0, inside));
  return where(outside, NAN, where(x == 0, at_zero, positive));
}

// Gauss's rule of 40 points on [-1, 1], whose other half mirrors it. source: DLMF 3.5(v)
constexpr double kPoints[] = {
    0.03877241750605082193, 0.1160840706752552085, 0.1926975807013710997, 0.2681521850072536811,
    0.341994090825758473,   0.4137792043716050015, 0.4830758016861787129, 0.5494671250951282021,
    0.612553889667980238,   0.6719566846141795484, 0.7273182551899271033, 0.7783056514265193877,
    0.8246122308333116632,  0.8659595032122595038, 0.9020988069688742967, 0.9328128082786765334,
    0.9579168192137916558,  0.9772599499837742627, 0.9907262386994570065, 0.9982377097105592003};
constexpr double kWeights[] = {
    0.07750594797842481126, 0.07703981816424796559, 0.07611036190062624237,
    0.0747231690579682642,  0.07288658239580405906, 0.0706116473912867797,
    0.06791204581523390383, 0.06480401345660103807, 0.06130624249292893917,
    0.05743976909939155137, 0.05322784698393682435, 0.04869580763507223206,
    0.04387090818567327199, 0.03878216797447201764, 0.03346019528254784739,
    0.0279370069800234011,  0.02224584919416695726, 0.01642105838190788871,
    0.01049828453115281361, 0.004521277098533191258};

// For h >= 0 and 0 <= a <= 1.
Expr owens_inside(const Expr& h, const Expr& a) {
  const Expr top = at_most(a, 8.6 / at_least(h, 1));
  const Expr width = h * top;
  Expr sum = h.like(0);
  for (size_t k = 0; k < std::size(kPoints); ++k)
    sum =
        sum + kWeights[k] * exp(-0.5 * square(width * kPoints[k])) / (1 + square(top * kPoints[k]));
  return exp_of_square(-0.5, h) * sum * top / (2 * pi);
}

Expr upper_tail(const Expr& h) { return ndtr((-h).operand()); }

Expr owens_of(const Expr& h, const Expr& a) {
  const Expr size = mirrored(a), distance = mirrored(h), steep = size > 1;
  const Expr product = where((distance == 0) & (size == INFINITY), 0, size) * distance;
  const Expr inverse = 1 / where(steep, size, 1);
  const Expr inside =
      owens_inside(at_most(where(steep, product, distance), 200), where(steep, inverse, size));
  const Expr p = upper_tail(distance), q = upper_tail(product);
  const Expr value = where(steep, 0.5 * (p + q) - p * q - inside, inside);
  return where(is_nan(h) | is_nan(a), NAN, where(a < 0, -value, value));
}

}  // namespace

Tensor spence(Operand x) { return evaluate("special::spence", {"x", x}, spence_of); }

Tensor expn(Operand n, Operand x) { return evaluate("special::expn", {"n", n}, {"x", x}, expn_of); }

Tensor owens_t(Operand h, Operand a) {
  return evaluate("special::owens_t", {"h", h}, {"a", a}, owens_of);
}

}  // namespace heddle::special
