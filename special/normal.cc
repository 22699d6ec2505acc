#include "heddle/special/normal.h"

#include <cmath>
#include <numbers>

#include "heddle/scan/own_rule.h"
#include "heddle/special/internal/formula.h"
#include "heddle/special/internal/squares.h"

namespace heddle::special {
namespace {

using scan_internal::Tensors;
using special_internal::exp_of_square;
using special_internal::split_square;
using special_internal::Square;

constexpr double kSqrtHalf = std::numbers::sqrt2 / 2;

// erfcx(z) from 1 on. f64: rational in z, up to 8 and beyond; f32: polynomial in 1 / z^2, up to 2
// and beyond. Highest power first.
constexpr double kTop64[] = {2.4619698147353052e-10, 0.56418956483106886, 7.4632105644226989,
                             48.637197098568137,     196.5208329560771,   526.44519499547732,
                             934.52852717195765,     1027.5518868951572,  557.53533536939938};
constexpr double kBottom64[] = {1.0,
                                13.228195115474499,
                                86.707214088598974,
                                354.93777888781989,
                                975.70850174320549,
                                1823.9091668790973,
                                2246.3376081871097,
                                1656.6630919416134,
                                557.53534081772773};
constexpr double kFarTop64[] = {0.56418958354775506, 1.275366707599781,  5.0190504225118051,
                                6.160210979930536,   7.4097426995044895, 2.9788666537210022};
constexpr double kFarBottom64[] = {1.0,
                                   2.2605286322011726,
                                   9.3960352493800148,
                                   12.048953980809666,
                                   17.081445074756591,
                                   9.6089680906328585,
                                   3.3690764510008151};
constexpr double kInverse32[] = {0.0232682,    -0.138703942, 0.368742466,
                                 -0.582473278, 0.621000469,  -0.494451523,
                                 0.340488,     -0.274112701, 0.563825965};
constexpr double kFarInverse32[] = {-10.477664,  12.9772,    -7.49551868,  2.92101908,
                                    -1.01526523, 0.42184633, -0.282076746, 0.564189494};

// erfcx(z) sqrt(pi) z in 1 / (2 z^2), from 50 on. source: DLMF 7.12.1
constexpr double kAsymptotic[] = {-945.0, 105.0, -15.0, 3.0, -1.0, 1.0};

// z must be 1 or more.
Expr erfcx_from_one(const Expr& z) {
  if (z.dtype() == f64) {
    Expr bounded = at_most(z, 50.0);
    Expr near = polynomial(bounded, kTop64) / polynomial(bounded, kBottom64);
    Expr middle = polynomial(bounded, kFarTop64) / polynomial(bounded, kFarBottom64);
    Expr far = polynomial(0.5 / (z * z), kAsymptotic) * std::numbers::inv_sqrtpi / z;
    return where(z < 8.0, near, where(z < 50.0, middle, far));
  }
  Expr q = 1.0 / (z * z);
  return 1.0 / z * where(z < 2.0, polynomial(q, kInverse32), polynomial(q, kFarInverse32));
}

// |x| if that is 1 or more and finite, else 1; at 1 it has the full slope.
Expr size_from_one(const Expr& x) {
  const Expr size = abs(x);
  return where((size < 1.0) | (size == INFINITY), 1.0, size);
}

Expr erfc_of(const Expr& x) {
  Expr tail = exp_of_square(-1.0, x) * erfcx_from_one(size_from_one(x));
  Expr outside = where(x < 0.0, 2.0 - tail, tail);
  return where(abs(x) < 1.0, 1.0 - erf(x), where(is_nan(x), x, outside));
}

Expr erfcx_of(const Expr& x) {
  Expr z = size_from_one(x);
  // Left of -30 the result is infinite in both dtypes, and so is its slope. The growth is not used
  // there and right of 1.
  Expr is_infinite = x < -30.0;
  Square s = split_square(where((x < 1.0) & ~is_infinite, x, 0.0));
  Expr growth = exp(s.exact) * exp(s.rest);
  Expr left =
      where(is_infinite, where(is_infinite, x, 0.0) * -INFINITY, 2.0 * growth - erfcx_from_one(z));
  Expr outside = where(x < 0.0, left, where(x == INFINITY, 0.0, erfcx_from_one(z)));
  return where(abs(x) < 1.0, growth * (1.0 - erf(x)), where(is_nan(x), x, outside));
}

// Giles's polynomials in w = -log(1 - x^2), or in its square root.
constexpr double kNear64[] = {
    -3.64441206401782e-21,  -1.6850591381820166e-19, 1.28584807152564e-18,
    1.1157877678025181e-17, -1.3331716628546209e-16, 2.0972767875968562e-17,
    6.6376381343583238e-15, -4.0545662729752069e-14, -8.1519341976054722e-14,
    2.6335093153082323e-12, -1.2975133253453532e-11, -5.4154120542946279e-11,
    1.0512122733215323e-09, -4.1126339803469837e-09, -2.9070369957882005e-08,
    4.2347877827932404e-07, -1.3654692000834679e-06, -1.3882523362786469e-05,
    0.00018673420803405714, -0.000740702534166267,   -0.0060336708714301491,
    0.24015818242558962,    1.6536545626831027};
constexpr double kMiddle64[] = {
    2.2137376921775787e-09, 9.0756561938885391e-08, -2.7517406297064545e-07,
    1.8239629214389228e-08, 1.5027403968909828e-06, -4.013867526981546e-06,
    2.9234449089955446e-06, 1.2475304481671779e-05, -4.7318229009055734e-05,
    6.8284851459573175e-05, 2.4031110387097894e-05, -0.00035503752036284748,
    0.0009532893797373805,  -0.0016882755560235047, 0.0024914420961078508,
    -0.0037512085075692412, 0.0053709145535900636,  1.0052589676941592,
    3.0838856104922208};
constexpr double kFar64[] = {
    -2.7109920616438573e-11, -2.5556418169965252e-10, 1.5076572693500548e-09,
    -3.789465440126737e-09,  7.61570120807834e-09,    -1.496002662714924e-08,
    2.9147953450901081e-08,  -6.7711997758452339e-08, 2.2900482228026655e-07,
    -9.9298272942317e-07,    4.5260625972231537e-06,  -1.9681778105531671e-05,
    7.5995277030017761e-05,  -0.00021503011930044477, -0.00013871931833623122,
    1.0103004648645344,      4.8499064014085844};
constexpr double kNear32[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                              -4.39150654e-06, 0.00021858087,  -0.00125372503,
                              -0.00417768164,  0.246640727,    1.50140941};
constexpr double kFar32[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                             -0.00367342844,  0.00573950773,  -0.0076224613,
                             0.00943887047,   1.00167406,     2.83297682};

Expr erf_inv_of(const Expr& x) {
  Expr w = -log1p(-(x * x));
  Expr root = sqrt(where(w < 5.0, 5.0, w));  // values below 5 are not used
  Expr factor = x.dtype() == f64
                    ? where(w < 6.25, polynomial(w - 3.125, kNear64),
                            where(w < 16.0, polynomial(root - 3.25, kMiddle64),
                                  polynomial(root - 5.0, kFar64)))
                    : where(w < 5.0, polynomial(w - 2.5, kNear32), polynomial(root - 3.0, kFar32));
  return where(x == 1.0, INFINITY, where(x == -1.0, -INFINITY, factor * x));
}

// Its slope is sqrt(pi) / 2 exp(y^2), infinite at -1 and 1.
Expr erf_inv_with_slope(const Expr& x) {
  const auto value = [](Tensors v) { return erf_inv_of(v[0]).tensor(); };
  const auto rule = [](Tensors, const Tensor& y, Tensors dx) {
    const Expr ends = abs(Expr(y)) == INFINITY;
    const Square s = split_square(where(ends, 0.0, Expr(y)));
    const Expr slope = 0.5 / std::numbers::inv_sqrtpi * exp(s.exact) * exp(s.rest);
    return (where(ends, INFINITY, slope) * Expr(dx[0])).tensor();
  };
  return Expr(scan_internal::with_rule("special::erf_inv", {x.tensor()}, value, rule));
}

// exp(-x^2 / 2) erfcx(|x| / sqrt(2)) / 2 has x itself, and not x / sqrt(2), in the exponential.
Expr ndtr_of(const Expr& x) {
  Expr z = abs(x) * kSqrtHalf;
  Expr tail = 0.5 * exp_of_square(-0.5, x) * erfcx_from_one(size_from_one(z));
  Expr outside = where(x < 0.0, tail, 1.0 - tail);
  Expr inside = 0.5 * (1.0 + erf(x * kSqrtHalf));
  return where(z < 1.0, inside, where(is_nan(x), x, outside));
}

// log(erfcx(z) / 2) - x^2 / 2 far below 0, with z = -x / sqrt(2).
Expr log_ndtr_of(const Expr& x) {
  Expr z = x * -kSqrtHalf;
  Expr far = log(0.5 * erfcx_from_one(where((z < 1.0) | (z == INFINITY), 1.0, z)));
  Expr beyond = far - 0.5 * square(where(z < 1.0, 0.0, x));
  // For x > 0 it takes a harmless argument: the slope of the logarithm of 0 would be NaN.
  Expr above = log1p(-ndtr_of(where(x > 0.0, -x, 0.0)));
  Expr near = log(ndtr_of(where(z < 1.0, x, 0.0)));
  return where(x > 0.0, above, where(z < 1.0, near, beyond));
}

// Moshier's rational functions: for the middle in the square of p - 1/2, for the tails in 1 / z
// with z = sqrt(-2 log p), below 8 and from there on.
constexpr double kMiddleTop[] = {-59.9633501014107895267, 98.0010754185999661536,
                                 -56.6762857469070293439, 13.9312609387279679503,
                                 -1.23916583867381258016};
constexpr double kMiddleBottom[] = {1.0,
                                    1.95448858338141759834,
                                    4.67627912898881538453,
                                    86.3602421390890590575,
                                    -225.462687854119370527,
                                    200.260212380060660359,
                                    -82.0372256168333339912,
                                    15.9056225126211695515,
                                    -1.18331621121330003142};
constexpr double kTailTop[] = {
    4.05544892305962419923,   31.5251094599893866154,    57.1628192246421288162,
    44.0805073893200834700,   14.6849561928858024014,    2.18663306850790267539,
    -0.140256079171354495875, -0.0350424626827848203418, -8.57456785154685413611e-4};
constexpr double kTailBottom[] = {1.0,
                                  15.7799883256466749731,
                                  45.3907635128879210584,
                                  41.3172038254672030440,
                                  15.0425385692907503408,
                                  2.50464946208309415979,
                                  -0.142182922854787788574,
                                  -0.0380806407691578277194,
                                  -9.33259480895457427372e-4};
constexpr double kFarTailTop[] = {
    3.23774891776946035970,    6.91522889068984211695,    3.93881025292474443415,
    1.33303460815807542389,    0.201485389549179081538,   0.0123716634817820021358,
    3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9};
constexpr double kFarTailBottom[] = {1.0,
                                     6.02427039364742014255,
                                     3.67983563856160859403,
                                     1.37702099489081330271,
                                     0.216236993594496635890,
                                     0.0134204006088543189037,
                                     3.28014464682127739104e-4,
                                     2.89247864745380683936e-6,
                                     6.79019408009981274425e-9};

Expr ndtri_of(const Expr& p) {
  const double edge = std::exp(-2.0);
  Expr upper = p > 1.0 - edge;
  Expr folded = where(upper, 1.0 - p, p);
  Expr inside = (p > 0.0) & (p < 1.0);
  Expr y = where(inside, folded, 0.5);
  Expr centred = y - 0.5;
  Expr s = square(centred);
  Expr middle = centred + centred * s * (polynomial(s, kMiddleTop) / polynomial(s, kMiddleBottom));
  middle = middle * std::sqrt(2.0 * std::numbers::pi);
  Expr z = sqrt(-2.0 * log(y));
  Expr u = 1.0 / z;
  Expr near = polynomial(u, kTailTop) / polynomial(u, kTailBottom);
  Expr far = polynomial(u, kFarTailTop) / polynomial(u, kFarTailBottom);
  Expr tail = z - log(z) / z - u * where(z < 8.0, near, far);
  Expr x = where(y > edge, middle, where(upper, tail, -tail));
  Expr ends = where(p == 0.0, -INFINITY, where(p == 1.0, p.like(INFINITY), NAN));
  return where(inside, x, ends);
}

}  // namespace

Tensor erfc(Operand x) { return evaluate("special::erfc", {"x", x}, erfc_of); }

Tensor erfcx(Operand x) { return evaluate("special::erfcx", {"x", x}, erfcx_of); }

Tensor erf_inv(Operand x) { return evaluate("special::erf_inv", {"x", x}, erf_inv_with_slope); }

Tensor ndtr(Operand x) { return evaluate("special::ndtr", {"x", x}, ndtr_of); }

Tensor log_ndtr(Operand x) { return evaluate("special::log_ndtr", {"x", x}, log_ndtr_of); }

Tensor ndtri(Operand p) { return evaluate("special::ndtri", {"p", p}, ndtri_of); }

}  // namespace heddle::special
