#include "heddle/special/internal/lanczos.h"

#include <cmath>
#include <numbers>

#include "heddle/scan/own_rule.h"

namespace heddle::special_internal {
namespace {

using std::numbers::pi;

// gamma(z + 1) = sqrt(2 pi) (z + g + 1/2)^(z + 1/2) e^-(z + g + 1/2) (c0 + sum c_k / (z + k)), g
// = 7.
constexpr double kG = 7;
constexpr double kBase = 0.99999999999980993227684700473478;
constexpr double kLanczos[] = {
    676.520368121885098567009190444019, -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,   -176.61502916214059906584551354,
    12.507343278686904814458936853,     -0.13857109526572011689554707,
    9.984369578019570859563e-6,         1.50563273514931155834e-7,
};

// The argument of the series: x - 1, or -x if x is reflected.
// The reflected side gets a harmless argument where it is not used: the slope of an unused pole
// would be NaN.
Expr series_argument(const Expr& x) { return where(x < 0.5, -x, x - 1.0); }

// log(z + g + 1/2), accurate for small z.
Expr log_shifted(const Expr& z) { return log1p(z / (kG + 0.5)) + std::log(kG + 0.5); }

// Lanczos's sum and its negative derivative.
struct LanczosSeries {
  Expr sum, slope;
};
LanczosSeries lanczos_series(const Expr& z) {
  Expr sum = z.like(kBase);
  Expr slope = z.like(0.0);
  for (size_t k = 0; k < std::size(kLanczos); ++k) {
    Expr t = z + static_cast<double>(k + 1);
    sum = sum + kLanczos[k] / t;
    slope = slope + kLanczos[k] / (t * t);
  }
  return {sum, slope};
}

// (2k)! / B_2k, the divisors of the Euler-Maclaurin corrections; B_2k are Bernoulli's numbers.
constexpr double kCorrections[] = {12.0,
                                   -720.0,
                                   30240.0,
                                   -1209600.0,
                                   47900160.0,
                                   -1.8924375803183791606e9,
                                   7.47242496e10,
                                   -2.950130727918164224e12,
                                   1.1646782814350067249e14,
                                   -4.5979787224074726105e15,
                                   1.8152105401943546773e17,
                                   -7.1661652561756670113e18};
constexpr int kTerms = 10;  // summed one by one

// Stirling's series times e^x x^(1/2 - x) / sqrt(2 pi), from x = 20 on. source: DLMF 5.11.3
Expr stirling_series(const Expr& x) {
  constexpr double kTerms[] = {432261921612371.0 / 514904800886784000,
                               -4483131259.0 / 86684309913600,
                               -534703531.0 / 902961561600,
                               5246819.0 / 75246796800,
                               163879.0 / 209018880,
                               -571.0 / 2488320,
                               -139.0 / 51840,
                               1.0 / 288,
                               1.0 / 12,
                               1};
  return polynomial(1.0 / x, kTerms);
}

// From 20 on by Stirling's series of |x| itself: the power's arguments are exact, and no error of
// theirs grows with x.
Expr plain_gamma_of(const Expr& x) {
  Expr z = series_argument(x), size = abs(x);
  Expr far = size > 20.0, reflects = x < 0.5;
  Expr t = where(far, size, z + (kG + 0.5));
  // By halves: the whole power may overflow though gamma does not, and gamma though its inverse is
  // not 0.
  Expr half = power(t, 0.5 * where(far, size - 0.5, z + 0.5));
  Expr decay = exp(-t);
  Expr sum = where(far, stirling_series(where(far, size, 20.0)), lanczos_series(z).sum);
  Expr part = where(decay == 0.0, INFINITY, sum * std::sqrt(2 * pi) * half * decay);
  Expr value = part * half;
  // gamma(x) gamma(1 - x) = pi / sin(pi x), the sine as in sinc; gamma(1 - x) = -x gamma(-x).
  Expr n = floor(x + 0.5);
  Expr sine = sin(where(reflects, x - n, 0.5) * pi);
  Expr odd = (n - 2.0 * floor(n / 2.0)) != 0.0;
  Expr reflected = pi / (where(odd, -sine, sine) * part) / half / where(far, size, 1.0);
  Expr at_pole = (x < 0.0) & (x == floor(x));
  return where(x == INFINITY, INFINITY, where(at_pole, NAN, where(reflects, reflected, value)));
}

}  // namespace

Expr lgamma_of(const Expr& x) {
  Expr z = series_argument(x);
  Expr log_t = log_shifted(z);
  Expr t = z + (kG + 0.5);
  Expr log_gamma =
      (z + 0.5 - t / log_t) * log_t + std::log(2 * pi) / 2 + log(lanczos_series(z).sum);
  // log|gamma(x)| = log(pi) - log|sin(pi x)| - log(gamma(1 - x)); the sine of the distance to the
  // nearest whole number is accurate.
  Expr size = abs(x);
  Expr fraction = size - floor(size);
  Expr distance = where(x < 0.5, where(fraction > 0.5, 1.0 - fraction, fraction), 0.5);
  Expr log_sine = log(sin(distance * pi));
  Expr reflected = where(is_finite(log_sine), std::log(pi) - log_sine - log_gamma, -log_sine);
  Expr value = where(x < 0.5, reflected, log_gamma);
  return where(size == INFINITY, INFINITY, value);
}

Expr digamma_of(const Expr& x) {
  Expr z = series_argument(x);
  LanczosSeries series = lanczos_series(z);
  Expr value = log_shifted(z) - series.slope / series.sum - kG / (z + (kG + 0.5));
  // digamma(x) = digamma(1 - x) - pi / tan(pi x), with x minus its nearest whole number in the
  // tangent.
  Expr angle = where(x < 0.5, x + abs(floor(x + 0.5)), 0.5) * pi;
  Expr reflected = value - pi * cos(angle) / sin(angle);
  Expr at_pole = (x <= 0.0) & (x == floor(x));
  return where(at_pole, NAN, where(x < 0.5, reflected, value));
}

// Its slope is gamma digamma: those of the powers overflow before it does.
Expr gamma_of(const Expr& x) {
  const auto value = [](std::span<const Tensor> v) { return plain_gamma_of(v[0]).tensor(); };
  const auto rule = [](std::span<const Tensor> v, const Tensor& y, std::span<const Tensor> dx) {
    return (Expr(y) * digamma_of(v[0]) * Expr(dx[0])).tensor();
  };
  return Expr(scan_internal::with_rule("special::gamma", {x.tensor()}, value, rule));
}

Expr zeta_of(const Expr& x, const Expr& q) {
  Expr sum = power(q, -x);
  Expr a = q;
  for (int k = 1; k < kTerms; ++k) {
    a = a + 1.0;
    sum = sum + power(a, -x);
  }
  a = a + 1.0;
  Expr last = power(a, -x);
  Expr tail = last * a / (x - 1.0);
  Expr inverse_square = 1.0 / (a * a);
  Expr corrections = x.like(0.0);
  for (size_t k = std::size(kCorrections); k-- > 1;) {
    double i = 2.0 * static_cast<double>(k);
    corrections =
        (x + i) * (x + (i - 1.0)) * (inverse_square * (corrections + 1.0 / kCorrections[k]));
  }
  corrections = x / a * (corrections + 1.0 / kCorrections[0]);
  Expr value = sum + tail + last * (0.5 + corrections);
  // Far to the right the terms vanish, and their product with the corrections may be 0 times
  // infinity.
  value = where(last < sum * float_limits(x.dtype()).epsilon / 64.0, sum, value);
  Expr q_is_pole = (q <= 0.0) & (q == floor(q));
  Expr even = (x == floor(x)) & ((x % 2.0) == 0.0);
  Expr at_pole = where(even, INFINITY, x.like(NAN));
  Expr no_power = (q <= 0.0) & (x != floor(x));
  value = where((x < 1.0) | no_power, NAN, value);
  return where(x == 1.0, INFINITY, where(q_is_pole, at_pole, value));
}

}  // namespace heddle::special_internal
