#include "heddle/special/bessel.h"

#include <cmath>

#include "heddle/scan/own_rule.h"
#include "heddle/special/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::special {
namespace {

using special_internal::chebyshev;

// Chebyshev coefficients, the highest first. The shorter series of f32 are their tails: the earlier
// terms are below half an ulp.
constexpr double kI0Near[] = {
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
    -1.1685332877993451e-14, 7.676185498604936e-14,  -4.856446783111929e-13, 2.95505266312964e-12,
    -1.726826291441556e-11,  9.675809035373237e-11,  -5.189795601635263e-10, 2.6598237246823866e-09,
    -1.300025009986248e-08,  6.046995022541919e-08,  -2.670793853940612e-07, 1.1173875391201037e-06,
    -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
    -0.0005763755745385824,  0.0016394756169413357,  -0.004324309995050576,  0.010546460394594998,
    -0.02373741480589947,    0.04930528423967071,    -0.09490109704804764,   0.17162090152220877,
    -0.3046826723431984,     0.6767952744094761};
constexpr double kI0Far[] = {
    -7.233180487874754e-18,  -4.830504485944182e-18,  4.46562142029676e-17,
    3.461222867697461e-17,   -2.8276239805165836e-16, -3.425485619677219e-16,
    1.7725601330565263e-15,  3.8116806693526224e-15,  -9.554846698828307e-15,
    -4.150569347287222e-14,  1.54008621752141e-14,    3.8527783827421426e-13,
    7.180124451383666e-13,   -1.7941785315068062e-12, -1.3215811840447713e-11,
    -3.1499165279632416e-11, 1.1889147107846439e-11,  4.94060238822497e-10,
    3.3962320257083865e-09,  2.266668990498178e-08,   2.0489185894690638e-07,
    2.8913705208347567e-06,  6.889758346916825e-05,   0.0033691164782556943,
    0.8044904110141088};
constexpr double kI1Near[] = {
    2.7779141127610464e-18,  -2.111421214358166e-17,  1.5536319577362005e-16,
    -1.1055969477353862e-15, 7.6006842947354077e-15,  -5.0421855047279118e-14,
    3.2237933659455748e-13,  -1.9839743977649436e-12, 1.1736186298890901e-11,
    -6.6634897235020271e-11, 3.6255902815521172e-10,  -1.8872497517228294e-09,
    9.3815373864957726e-09,  -4.4450591287963281e-08, 2.0032947535521353e-07,
    -8.5687202646954547e-07, 3.4702513081376785e-06,  -1.3273163656039436e-05,
    4.7815651075500542e-05,  -0.00016176081582589674, 0.00051228595616857576,
    -0.0015135724506312532,  0.0041564229443128882,   -0.010564084894626197,
    0.024726449030626516,    -0.052945981208094989,   0.10264365868984709,
    -0.17641651835783406,    0.25258718644363365};
constexpr double kI1Far[] = {
    7.5172963108421052e-18,  4.4143483230717077e-18,  -4.6503053684893586e-17,
    -3.2095259219934238e-17, 2.96262899764595e-16,    3.3082023109209285e-16,
    -1.8803547755107825e-15, -3.8144030724370075e-15, 1.0420276984128802e-14,
    4.272440016711951e-14,   -2.1015418427726643e-14, -4.0835511110921974e-13,
    -7.1985517762459084e-13, 2.0356285441470896e-12,  1.4125807436613782e-11,
    3.2526035830154884e-11,  -1.8974958123505413e-11, -5.5897434621965838e-10,
    -3.835380385964237e-09,  -2.6314688468895196e-08, -2.5122362378702088e-07,
    -3.8825648088776906e-06, -0.00011058893876262371, -0.0097610974913614687,
    0.77857623501828011};

std::span<const double> series(std::span<const double> all, size_t terms32, DType dtype) {
  return dtype == f64 ? all : all.last(terms32);
}

// Of the series up to 8. Beyond, it is a harmless number: the slope of a power of a large one would
// be infinite.
Expr near_argument(const Expr& size) { return 0.5 * where(size <= 8.0, size, 4.0) - 2.0; }

// e^-|x| times the function of |x|, without the power of |x| that the near series lacks. size: |x|;
// its slope at 0 is the caller's, since e^-|x| has none there.
Expr scaled_i0(const Expr& size) {
  Expr near = chebyshev(near_argument(size), series(kI0Near, 18, size.dtype()));
  Expr beyond = where(size <= 8.0, 8.0, size);
  Expr far = chebyshev(32.0 / beyond - 2.0, series(kI0Far, 7, size.dtype())) / sqrt(beyond);
  return where(size <= 8.0, near, far);
}

Expr scaled_i1(const Expr& x) {
  Expr size = abs(x), beyond = where(size <= 8.0, 8.0, size);
  Expr near = chebyshev(near_argument(size), series(kI1Near, 17, x.dtype())) * x;
  Expr far = chebyshev(32.0 / beyond - 2.0, series(kI1Far, 7, x.dtype())) / sqrt(beyond);
  return where(size <= 8.0, near, sign(x) * far);
}

// e^|x| times a scaled value; in two halves, since the value may be finite where e^|x| is not.
Expr unscaled(const Expr& scaled, const Expr& x) {
  Expr half = exp(0.5 * abs(x));
  return half * scaled * half;
}

Expr i1_of(const Expr& x) { return unscaled(scaled_i1(x), x); }

// Its slope is i1: near 0 those of e^|x| and of e^-|x| i0 cancel.
Expr i0_of(const Expr& x) {
  const auto value = [](std::span<const Tensor> v) {
    return unscaled(scaled_i0(abs(Expr(v[0]))), v[0]).tensor();
  };
  const auto rule = [](std::span<const Tensor> v, const Tensor&, std::span<const Tensor> dx) {
    return (i1_of(v[0]) * Expr(dx[0])).tensor();
  };
  return Expr(scan_internal::with_rule("special::i0", {x.tensor()}, value, rule));
}

}  // namespace

Tensor bessel_i0e(Operand x) {
  return evaluate("special::bessel_i0e", {{"x", x}}, [](Arguments v) {
    return scaled_i0(v[0] * sign(v[0]));  // the slope at 0 is 0
  });
}

Tensor bessel_i1e(Operand x) { return evaluate("special::bessel_i1e", {"x", x}, scaled_i1); }

Tensor i0e(Operand x) {
  const PublicCall call("special::i0e", x.at());
  return bessel_i0e(x);
}

Tensor i1e(Operand x) {
  const PublicCall call("special::i1e", x.at());
  return bessel_i1e(x);
}

Tensor i0(Operand x) { return evaluate("special::i0", {"x", x}, i0_of); }

Tensor i1(Operand x) { return evaluate("special::i1", {"x", x}, i1_of); }

Tensor kaiser(base::Int n, double beta, DType dtype, SourceLocation at) {
  const PublicCall call("special::kaiser", at);
  if (n < 0 || !is_floating(dtype))
    trace_internal::refuse("n is ", n, " and dtype ", to_string(dtype),
                           "; n must be 0 or more and dtype of floats");
  return trace_internal::one_program("special::kaiser", [&] {
    if (n <= 1) return ones({n}, dtype);
    const DType wide = dtype == f64 ? f64 : f32;
    const Expr place(iota(wide, {n}, 0));
    const Expr part = place * (2.0 / static_cast<double>(n - 1)) - 1;
    const Expr angle = beta * sqrt(maximum(1 - square(part), 0));
    const Expr above = i0(angle.operand());
    const Expr below = i0(angle.like(beta).operand());
    return (above / below).astype(dtype).tensor();
  });
}

}  // namespace heddle::special
