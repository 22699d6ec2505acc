#include "heddle/special/internal/factors.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace heddle::special_internal {
namespace {

using std::numbers::ln2;

// gamma(x) = L(x) ((x + kShift) / e)^(x - 1/2), and L(x) = sum n_k x^k / sum d_k x^k. The
// denominator is x (x + 1) .. (x + 11). All terms are positive, so nothing cancels.
constexpr double kShift = 5.524680040776729583740234375;
constexpr double kNumerator[] = {
    56906521.913471563881,   103794043.11634454519, 86363131.288138591455, 43338889.324676138348,
    14605578.087685068084,   3481712.1549806459088, 601859.61716810987867, 75999.293040145426499,
    6955.9996025153761404,   449.94455690631681194, 19.519927882476174828, 0.50984166556566761881,
    0.0060618423462489065258};
constexpr double kDenominator[] = {39916800, 120543840, 150917976, 105258076, 45995730, 13339535,
                                   2637558,  357423,    32670,     1925,      66,       1};

// The polynomial sum c_k u^k, or with the coefficients reversed, sum c_(n-k) u^k.
Expr either_way(const Expr& reversed, const Expr& u, std::span<const double> c) {
  size_t last = c.size() - 1;
  Expr value = where(reversed, u.like(c[0]), c[last]);
  for (size_t k = 1; k <= last; ++k) value = value * u + where(reversed, u.like(c[k]), c[last - k]);
  return value;
}

// L(x) min(x, 1), finite at 0. It uses powers of 1 / x where those of x could overflow.
Expr lanczos(const Expr& x) {
  Expr large = x > 1.0;
  Expr u = where(large, 1.0 / x, x);
  return either_way(large, u, kNumerator) / either_way(large, u, kDenominator);
}

// log(1 + d) - d by its series in d / (2 + d), whose square must be under 0.15. The factors in
// front prevent cancellation.
Expr log1p_less(const Expr& d, const Expr& ratio) {
  int terms = d.dtype() == f64 ? 19 : 8;
  std::vector<double> c;
  for (int k = terms; k > 0; --k) c.push_back(1.0 / (2 * k + 1));
  Expr square_of = ratio * ratio;
  return ratio * (2.0 * square_of * polynomial(square_of, c) - d);
}

// One of several values, by the interval of a number.
Expr by_size(const Expr& v, double under_022, double under_044, double middle, double over_226) {
  Expr upper = where(v > 2.26, over_226, v.like(middle));
  return where(v < 0.22, under_022, where(v < 0.44, under_044, upper));
}

// (zeta(k) - 1) / k with alternating signs, k = 29 down to 2.
constexpr double kLogGamma[] = {
    -6.4229645638381000221e-11, 1.3304764374244489481e-10,  -2.7595228851242331452e-10,
    5.7313672416788620133e-10,  -1.1921401405860912074e-9,  2.4836745438024783172e-9,
    -5.1834750419700466551e-9,  1.0838659214896954091e-8,   -2.271109460894316491e-8,
    4.7698101693639805658e-8,   -1.0043224823968099609e-7,  2.1207184805554665869e-7,
    -4.4924691987645660433e-7,  9.5514121304074198329e-7,   -2.0392157538013662368e-6,
    4.3748667899074878042e-6,   -9.439488275268395904e-6,   0.000020507212775670691553,
    -0.0000449262367381331417,  0.000099457512781808533715, -0.00022315475845357937976,
    0.00050966952474304242234,  -0.0011927539117032609771,  0.0028905103307415232858,
    -0.0073855510286739852663,  0.020580808427784547879,    -0.067352301053198095133,
    0.32246703342411321824};

}  // namespace

Expr log_ratio(const Expr& difference, const Expr& a, const Expr& x) {
  // Far from a it takes the series at 4, 2 or 1/2 times x, and corrects by the logarithm of that
  // factor.
  Expr v = x / a;
  Expr scale = by_size(v, 4, 2, 1, 0.5);
  Expr scaled = scale * x;
  Expr d = where(scale == 1.0, difference, scaled - a);
  Expr correction = (scale - 1.0) * v + by_size(v, -2 * ln2, -ln2, 0, ln2);
  Expr near = a * (log1p_less(d / a, d / (scaled + a)) + correction);
  // For a < 1 the quotient may overflow; there logarithms are small beside 1 / a.
  Expr log_v = where(a < 1.0, log(x) - log(a), log(v));
  return where((v > 0.11) & (v < 4.5), near, a * log_v - difference);
}

Expr power_over_gamma(const Expr& a) {
  Expr shifted = a + kShift;
  Expr log_shift = where(a < 1.0, log(shifted) - log(a), log1p(kShift / a));
  return exp(-a * log_shift) * sqrt(shifted / std::numbers::e) / lanczos(a);
}

Expr log_beta(const Expr& a, const Expr& b) {
  const auto [low, high] = ordered(a, b);
  Expr both = a + b;
  Expr sums = lanczos(high) * (lanczos(low) / lanczos(both));
  sums = sums * (at_most(both, 1.0) / at_most(high, 1.0));
  Expr shifted = low + kShift;
  Expr powers = (high - 0.5) * log1p(-low / (both + kShift)) +
                low * log(shifted / (both + kShift)) + (0.5 - 0.5 * log(shifted));
  return log(sums) - log(at_most(low, 1.0)) + powers;
}

Expr lgamma1p(const Expr& a) {
  // Right of 1/2, log(a) + log(gamma(a)).
  Expr right = a > 0.5;
  Expr b = where(right, a - 1.0, a);
  std::span<const double> c(kLogGamma);
  Expr series = polynomial(b, a.dtype() == f64 ? c : c.last(14));
  Expr value = b * (b * series + (1.0 - std::numbers::egamma));
  return where(right, value, value - log1p(b));
}

}  // namespace heddle::special_internal
