// Values at the edges of the functions' domains, types, errors, and behaviour inside a scan.
#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/numpy/float_limits.h"
#include "heddle/scan/scan.h"
#include "heddle/special/bessel.h"
#include "heddle/special/combinatorics.h"
#include "heddle/special/gamma.h"
#include "heddle/special/logarithms.h"
#include "heddle/special/normal.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"

namespace heddle {
namespace {

using testing::DoubleEq;

const double kInf = INFINITY;

double at(Tensor (*fn)(Operand), double x) { return fn(scalar<double>(x)).item<double>(); }
double at(Tensor (*fn)(Operand, Operand), double x, double y) {
  return fn(scalar<double>(x), scalar<double>(y)).item<double>();
}

TEST(Special, NormalDistributionsEnds) {
  EXPECT_EQ(at(special::erfc, -kInf), 2);
  EXPECT_EQ(at(special::erfc, kInf), 0);
  EXPECT_THAT(at(special::erfc, NAN), IsNan());
  EXPECT_EQ(at(special::erfcx, kInf), 0);
  EXPECT_EQ(at(special::erfcx, -kInf), kInf);
  EXPECT_EQ(at(special::erf_inv, -1), -kInf);
  EXPECT_THAT(at(special::erf_inv, 1.5), IsNan());
  EXPECT_EQ(at(special::ndtri, 0), -kInf);
  EXPECT_EQ(at(special::ndtri, 1), kInf);
  EXPECT_THAT(at(special::ndtri, -0.1), IsNan());
  EXPECT_EQ(at(special::ndtr, 0), 0.5);
  EXPECT_EQ(at(special::log_ndtr, kInf), 0);
  EXPECT_EQ(at(special::log_ndtr, -kInf), -kInf);
}

TEST(Special, GammasPoles) {
  EXPECT_EQ(at(special::lgamma, 0), kInf);
  EXPECT_EQ(at(special::lgamma, -3), kInf);
  EXPECT_EQ(at(special::lgamma, kInf), kInf);
  EXPECT_THAT(at(special::digamma, 0), IsNan());
  EXPECT_THAT(at(special::digamma, -2), IsNan());
  EXPECT_EQ(at(special::gammasgn, -0.5), -1);
  EXPECT_EQ(at(special::gammasgn, -1.5), 1);
  EXPECT_EQ(at(special::gammasgn, -0.0), -1);
  EXPECT_EQ(at(special::gammasgn, 0.0), 1);
  EXPECT_THAT(at(special::gammasgn, -2), IsNan());
}

TEST(Special, GammaIsInfiniteBeyondTheRange) {
  for (const double x : {172.0, 750.0, 1e5, 1e300}) EXPECT_EQ(at(special::gamma, x), kInf) << x;
  for (const double x : {-201.5, -1000.5, -5000.5}) EXPECT_EQ(at(special::gamma, x), 0) << x;
  EXPECT_EQ(special::gamma(scalar(100.0f)).item<float>(), kInf);
  EXPECT_EQ(special::gamma(scalar(-1000.5f)).item<float>(), 0);
  EXPECT_EQ(special::factorial(scalar(99.0f)).item<float>(), kInf);
}

TEST(Special, ZetasPoles) {
  EXPECT_EQ(at(special::zeta, 1, 2), kInf);
  EXPECT_THAT(at(special::zeta, 0.5, 2), IsNan());
  EXPECT_EQ(at(special::zeta, 2, -3), kInf);
  EXPECT_THAT(at(special::zeta, 3, -3), IsNan());
  EXPECT_NEAR(at(special::zeta, 2, 1), M_PI * M_PI / 6, 1e-15);
  EXPECT_THAT(at(special::polygamma, 1.5, 2), IsNan());
  EXPECT_NEAR(at(special::polygamma, 1, 1), M_PI * M_PI / 6, 1e-15);
  EXPECT_NEAR(at(special::gamma, 5), 24, 1e-13);
  EXPECT_THAT(at(special::gamma, -2), IsNan());
  EXPECT_EQ(at(special::gamma, kInf), kInf);
}

TEST(Special, IncompleteIntegralsEnds) {
  EXPECT_EQ(at(special::igamma, 2, 0), 0);
  EXPECT_EQ(at(special::igamma, 2, kInf), 1);
  EXPECT_EQ(at(special::igammac, 2, 0), 1);
  EXPECT_EQ(at(special::igammac, 2, kInf), 0);
  EXPECT_THAT(at(special::igamma, -1, 2), IsNan());
  EXPECT_THAT(at(special::igamma, 0, 0), IsNan());
  auto beta = [](double a, double b, double x) {
    return special::betainc(scalar(a), scalar(b), scalar(x)).item<double>();
  };
  EXPECT_EQ(beta(2, 3, 0), 0);
  EXPECT_EQ(beta(2, 3, 1), 1);
  EXPECT_NEAR(beta(2, 3, 0.5), 0.6875, 1e-15);
  EXPECT_EQ(beta(0, 3, 0.5), 1);
  EXPECT_EQ(beta(2, 0, 0.5), 0);
  EXPECT_THAT(beta(2, 3, 1.5), IsNan());
}

// The error in ulps of the expected value.
double ulps(double got, double expected) {
  return std::abs(got - expected) / std::ldexp(0x1p-52, std::ilogb(expected));
}

TEST(Special, ExprelIsFiniteAsLongAsItCan) {
  EXPECT_EQ(at(special::exprel, kInf), kInf);
  EXPECT_EQ(at(special::exprel, -kInf), 0);
  EXPECT_LT(ulps(at(special::exprel, 712), std::exp(700) / 712 * std::exp(12)), 8);
}

// Also where the whole power, or the gamma of the reflection, overflows.
TEST(Special, GammaErrsByFewUlpsOverItsRange) {
  for (double x = -169.7; x < 171.6; x += 0.377) {
    const double expected = static_cast<double>(std::tgamma(static_cast<long double>(x)));
    EXPECT_LE(ulps(at(special::gamma, x), expected), 51) << x;
  }
  for (float x = -36.98F; x < 35; x += 0.0371F) {
    const double expected = std::tgamma(static_cast<double>(x));
    const double got = special::gamma(scalar(x)).item<float>();
    EXPECT_LE(std::abs(got - expected), 51 * 0x1p-23 * std::abs(expected) + 51 * 0x1p-149) << x;
  }
}

// The quotient of 1e-320 is subnormal; -320 log(10).
TEST(Special, EntropiesOfFarNumbersKeepTheirDigits) {
  EXPECT_LT(ulps(at(special::rel_entr, 1e-300, 1e20), -7.368272297580947e-298), 4);
}

// 1e10 (1e10 + 1), and its inverse.
TEST(Special, PochOfLargeNumbersKeepsItsDigits) {
  EXPECT_LT(ulps(at(special::poch, 1e10, 2), 1.0000000001e20), 200);
  EXPECT_LT(ulps(at(special::poch, 1e10 + 2, -2), 1 / ((1e10 + 1) * 1e10)), 200);
  EXPECT_LT(ulps(at(special::poch, 1e10, 0.5), 99999.99999875), 200);
  EXPECT_EQ(at(special::poch, 1e10, 0), 1);
}

// Places where digits would be lost: small differences from 1, and powers of large operands. Values
// by mpmath, to 50 digits.
TEST(Special, IncompleteIntegralsKeepTheirDigits) {
  EXPECT_LT(ulps(at(special::igammac, 1e-3, 0.5), 0.0005600666564707498), 50);
  EXPECT_LT(ulps(at(special::igammac, 0.05, 0.83), 0.015352989444657374), 50);
  EXPECT_LT(ulps(at(special::igamma, 1e4, 1e4), 0.5013298083399552), 300);
  EXPECT_LT(ulps(at(special::betaln, 1e-10, 1e10), 23.02585092758015), 4);
  EXPECT_EQ(at(special::betaln, 3, kInf), -kInf);
  EXPECT_EQ(at(special::betaln, 0, 3), kInf);
  auto beta = [](double a, double b, double x) {
    return special::betainc(scalar(a), scalar(b), scalar(x)).item<double>();
  };
  EXPECT_LT(ulps(beta(40, 0.15, 0.98), 0.0522154105228929), 50);
  EXPECT_LT(ulps(beta(1e-3, 5e-4, 0.3), 0.33305109948170625), 50);
  EXPECT_LT(ulps(beta(3000, 2000, 0.6), 0.4992322120544092), 300);
  EXPECT_NEAR(special::betainc(1e-30F, 2.0F, 0.5F).item<float>(), 1, 1e-6);
}

TEST(Special, ZeroTimesItsLogarithmIsZero) {
  EXPECT_EQ(at(special::xlogy, 0, 0), 0);
  EXPECT_THAT(at(special::xlogy, 0, NAN), IsNan());
  EXPECT_EQ(at(special::xlog1py, 0, -1), 0);
  EXPECT_EQ(at(special::entr, 0), 0);
  EXPECT_EQ(at(special::entr, -1), -kInf);
  EXPECT_EQ(at(special::rel_entr, 0, 0), 0);
  EXPECT_EQ(at(special::rel_entr, 1, 0), kInf);
  EXPECT_EQ(at(special::kl_div, 2, 2), 0);
  EXPECT_EQ(at(special::boxcox, 2, 0), std::log(2.0));
  EXPECT_EQ(at(special::exprel, 0), 1);
  EXPECT_EQ(at(special::sinc, 0), 1);
}

TEST(Special, OperandsBroadcastAndNumbersTakeTheirDtype) {
  Tensor column = array<double>({{1}, {2}, {3}});
  Tensor out = special::igamma(column, array<double>({1, 2}));
  EXPECT_EQ(out.shape(), Shape(f64, {3, 2}));
  EXPECT_EQ(special::betainc(1.0, column, 0.5).shape(), Shape(f64, {3, 1}));
  EXPECT_EQ(special::zeta(3, 1).shape(), Shape(f32, {}));
  EXPECT_EQ(special::lgamma(zeros({2}, bf16)).dtype(), bf16);
}

TEST(Special, ErrorsSayWhatToDo) {
  try {
    special::erfc(arange(3));
    FAIL() << "of integers";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("erfc: x is s32; it must be f16, bf16, f32 or f64, cast it "
                                    "with astype(f32)"));
    EXPECT_THAT(e.what(), HasSubstr("special_test.cc"));
  }
  try {
    special::igamma(zeros({2}), zeros({2}, f64));
    FAIL() << "of two dtypes";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("igamma: a is f32[2] and x f64[2]; their dtypes must be "
                                    "equal, cast one with astype(f64)"));
  }
}

TEST(Special, ErrorsNameTheParameter) {
  const auto said = [](auto fn) -> std::string {
    try {
      fn();
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  const Tensor x = ones({2});
  EXPECT_THAT(said([&] { special::betainc(x, ones({2}, s32), 0.5); }),
              HasSubstr("betainc: b is s32; it must be f16"));
  EXPECT_THAT(said([&] { special::betainc(x, 1.0, ones({3})); }),
              HasSubstr("betainc: a is f32[2] and x f32[3]; sizes must be equal or 1"));
  EXPECT_THAT(said([&] { special::xlogy(x, Tensor()); }), HasSubstr("xlogy: y has no value"));
}

// Loops inside a loop, on values that are carried.
TEST(Special, IterativeFunctionsRunInsideAScan) {
  auto step = [](Tensor a, Tensor x) { return std::pair(a + 0.5, special::igamma(a, x)); };
  Tensor xs = array<double>({0.5, 1, 4});
  auto [last, ys] = scan(step, scalar(1.0), xs);
  Tensor all = special::igamma(array<double>({1, 1.5, 2}), xs);
  EXPECT_EQ(ys.to_vector<double>(), all.to_vector<double>());
}

TEST(Floats, NextAfter) {
  auto next = [](float x, float y) { return nextafter(scalar(x), scalar(y)).item<float>(); };
  for (float x : {0.0f, -0.0f, 1.0f, -1.0f, 1e-45f, 3e38f, 0.1f, INFINITY}) {
    for (float y : {0.0f, 2.0f, -2.0f, INFINITY, -INFINITY})
      EXPECT_EQ(next(x, y), std::nextafter(x, y)) << x << " " << y;
  }
  EXPECT_THAT(next(NAN, 1), IsNan());
  EXPECT_EQ(nextafter(scalar(1.0), 2).item<double>(), 1 + 0x1p-52);
  EXPECT_EQ(nextafter(ones({}, bf16), 2).item<float>(), 1 + 0x1p-7f);
}

TEST(Floats, Limits) {
  EXPECT_EQ(float_limits(f32).epsilon, 0x1p-23);
  EXPECT_EQ(float_limits(f32).largest, std::numeric_limits<float>::max());
  EXPECT_EQ(float_limits(f64).smallest_normal, std::numeric_limits<double>::min());
  EXPECT_EQ(float_limits(f64).smallest_positive, std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(float_limits(f16).largest, 65504);
  EXPECT_EQ(float_limits(bf16).epsilon_below, 0x1p-8);
  EXPECT_FALSE(has_float_limits(s32));
}

}  // namespace
}  // namespace heddle
