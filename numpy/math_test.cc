// Elementwise functions, of one op and of several, against <cmath>.
#include "heddle/numpy/math.h"

#include <cmath>
#include <complex>
#include <limits>

#include "heddle/base/support_test.h"
#include "heddle/numpy/float_limits.h"
#include "heddle/trace/error.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kUnit = std::numeric_limits<double>::epsilon();

struct Unary {
  const char* name;
  Tensor (*fn)(Operand);
  double (*want)(double);
};

const Unary kUnary[] = {
    {"abs", abs, std::fabs},
    {"acos", acos, std::acos},
    {"acosh", acosh, std::acosh},
    {"asin", asin, std::asin},
    {"asinh", asinh, std::asinh},
    {"atan", atan, std::atan},
    {"atanh", atanh, std::atanh},
    {"cbrt", cbrt, std::cbrt},
    {"ceil", ceil, std::ceil},
    {"cos", cos, std::cos},
    {"cosh", cosh, std::cosh},
    {"erf", erf, std::erf},
    {"exp", exp, std::exp},
    {"expm1", expm1, std::expm1},
    {"floor", floor, std::floor},
    {"log", log, std::log},
    {"log1p", log1p, std::log1p},
    {"logistic", logistic, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"negative", negative, [](double x) { return -x; }},
    {"round", round, std::nearbyint},
    {"round_half_away", round_half_away, std::round},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }},
    {"sign", sign, [](double x) { return x > 0   ? 1.0
                                         : x < 0 ? -1.0
                                                 : x; }},
    {"sin", sin, std::sin},
    {"sinh", sinh, std::sinh},
    {"sqrt", sqrt, std::sqrt},
    {"tan", tan, std::tan},
    {"tanh", tanh, std::tanh},
    {"square", square, [](double x) { return x * x; }},
    {"reciprocal", reciprocal, [](double x) { return 1 / x; }},
    {"log2", log2, std::log2},
    {"log10", log10, std::log10},
    {"exp2", exp2, std::exp2},
    {"trunc", trunc, std::trunc},
    {"deg2rad", deg2rad, [](double x) { return x * M_PI / 180; }},
    {"rad2deg", rad2deg, [](double x) { return x * 180 / M_PI; }},
};

void expect_near(double got, double want, const std::string& what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << " is " << got << ", not NaN";
  } else if (std::isinf(want) || want == 0) {
    EXPECT_EQ(got, want) << what;
  } else {
    EXPECT_NEAR(got, want, 8 * kUnit * std::max(std::abs(want), 1e-300)) << what;
  }
}

TEST(Formulas, OfOneOperandAreThoseOfTheirNames) {
  const std::vector<double> points = {-kInf, -30.5, -2.5, -1, -0.75, -1e-9, 0,    1e-9, 0.5,
                                      0.75,  1,     1.5,  2,  2.5,   30.5,  kInf, NAN};
  for (const Unary& each : kUnary) {
    const std::vector<double> got = each.fn(array<double>(points)).to_vector<double>();
    for (size_t i = 0; i < points.size(); ++i)
      expect_near(got[i], each.want(points[i]), base::cat(each.name, " of ", points[i]));
  }
}

struct Binary {
  const char* name;
  Tensor (*fn)(Operand, Operand);
  double (*want)(double, double);
};

const Binary kBinary[] = {
    {"add", add, [](double x, double y) { return x + y; }},
    {"subtract", subtract, [](double x, double y) { return x - y; }},
    {"multiply", multiply, [](double x, double y) { return x * y; }},
    {"divide", divide, [](double x, double y) { return x / y; }},
    {"rem", rem, std::fmod},
    {"power", power, std::pow},
    {"maximum", maximum,
     [](double x, double y) { return x != x || y != y ? NAN : std::max(x, y); }},
    {"minimum", minimum,
     [](double x, double y) { return x != x || y != y ? NAN : std::min(x, y); }},
    {"atan2", atan2, std::atan2},
    {"hypot", hypot, std::hypot},
    {"copysign", copysign, std::copysign},
    {"logaddexp", logaddexp,
     [](double x, double y) {
       if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
       if (x == y) return x + std::log(2.0);
       return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
     }},
    {"mod", mod, [](double x, double y) { return x - y * std::floor(x / y); }},
    {"floor_divide", floor_divide, [](double x, double y) { return std::floor(x / y); }},
};

TEST(Formulas, OfTwoOperandsAreThoseOfTheirNames) {
  const std::vector<double> points = {-kInf, -7.5, -2, -0.5, -0.0, 0.25, 1, 3, 1e200, kInf, NAN};
  const auto n = static_cast<int64_t>(points.size());
  Tensor x = array<double>(points, {n, 1});
  Tensor y = array<double>(points);
  for (const Binary& each : kBinary) {
    const std::vector<double> got = each.fn(x, y).to_vector<double>();
    const std::string_view name = each.name;
    const bool rounds_down = name == "mod" || name == "floor_divide";
    for (size_t i = 0; i < points.size(); ++i) {
      for (size_t j = 0; j < points.size(); ++j) {
        const double a = points[i], b = points[j];
        // There the reference formula says nothing, or rounds.
        if (rounds_down &&
            (!std::isfinite(a) || !std::isfinite(b) || b == 0 || a > 1e100 || b > 1e100))
          continue;
        expect_near(got[i * points.size() + j], each.want(a, b),
                    base::cat(name, " of ", a, " and ", b));
      }
    }
  }
  expect_near(hypot(scalar(3e200), scalar(4e200)).item<double>(), 5e200, "hypot of great numbers");
  EXPECT_THAT(hypot(scalar<double>(NAN), scalar(kInf)).item<double>(), kInf);
}

TEST(Formulas, RoundDownAlsoForIntegers) {
  Tensor x = array<int>({7, -7, 7, -7, 6, 0});
  Tensor y = array<int>({3, 3, -3, -3, -3, 5});
  EXPECT_THAT(floor_divide(x, y).to_vector<int>(), ElementsAre(2, -3, -3, 2, -2, 0));
  EXPECT_THAT(mod(x, y).to_vector<int>(), ElementsAre(1, 2, -2, -1, 0, 0));
  EXPECT_THAT(mod(array<uint8_t>({250, 7}), 16).to_vector<int>(), ElementsAre(10, 7));
}

// The results of jax.numpy for an infinite or undefined quotient.
TEST(Formulas, RoundDownBesideInfinitiesAndByZero) {
  Tensor x = array<double>({-1, 1, 5, -7.5, 1, -1, kInf, -kInf});
  Tensor y = array<double>({kInf, kInf, 0, 2, -kInf, -kInf, kInf, 3});
  EXPECT_THAT(floor_divide(x, y).to_vector<double>(),
              ElementsAre(-1, 0, kInf, -4, -1, 0, IsNan(), IsNan()));
  EXPECT_THAT(mod(x, y).to_vector<double>(),
              ElementsAre(kInf, 1, IsNan(), 0.5, -kInf, -1, IsNan(), IsNan()));
  Tensor whole = array<int>({5, -5, 0});
  EXPECT_THAT(floor_divide(whole, 0).to_vector<int>(), ElementsAre(-2, -2, -1));
  EXPECT_THAT(mod(whole, 0).to_vector<int>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(error_of([] { floor_divide(array<bool>({true}), array<bool>({true})); }),
              HasSubstr("floor_divide: operands are of pred; they must be of integers or floats"));
}

TEST(Formulas, TellFloatsApart) {
  Tensor x = array<double>({-kInf, -0.0, 0, 1, kInf, NAN});
  EXPECT_THAT(is_inf(x).to_vector<bool>(), ElementsAre(true, false, false, false, true, false));
  EXPECT_THAT(is_finite(x).to_vector<bool>(), ElementsAre(false, true, true, true, false, false));
  EXPECT_THAT(is_nan(x).to_vector<bool>(), ElementsAre(false, false, false, false, false, true));
  for (DType dtype : {f16, bf16, f32, f64})
    EXPECT_THAT(signbit(slice_in_dim(x, 0, 5).astype(dtype)).to_vector<bool>(),
                ElementsAre(true, true, false, false, false));
  EXPECT_THAT(signbit(array<double>({-2, -0.0, 0, 3}).astype(f4e2m1fn)).to_vector<bool>(),
              ElementsAre(true, true, false, false));
  EXPECT_THAT(signbit(array<double>({0.25, 128}).astype(f8e8m0fnu)).to_vector<bool>(),
              ElementsAre(false, false));
  EXPECT_EQ(copysign(scalar(2.0).astype(f4e2m1fn), scalar(-1.0).astype(f4e2m1fn)).item<double>(),
            -2);
  EXPECT_EQ(copysign(scalar(2.0).astype(f8e8m0fnu), scalar(64.0).astype(f8e8m0fnu)).item<double>(),
            2);
  EXPECT_THAT(nan_to_num(x, -1).to_vector<double>(),
              ElementsAre(-std::numeric_limits<double>::max(), 0, 0, 1,
                          std::numeric_limits<double>::max(), -1));
}

TEST(Formulas, CompareWithinTolerances) {
  Tensor x = array<double>({1, 1, 1, kInf, kInf, NAN});
  Tensor y = array<double>({1 + 9e-6, 1 + 2e-5, -1, kInf, -kInf, NAN});
  EXPECT_THAT(is_close(x, y).to_vector<bool>(),
              ElementsAre(true, false, false, true, false, false));
  EXPECT_TRUE(all_close(x, x, {.equal_nan = true}).item<bool>());
  EXPECT_FALSE(all_close(x, x).item<bool>());
  EXPECT_TRUE(is_close(scalar(1.0), 1.5, {.relative = 0, .absolute = 0.5}).item<bool>());
  EXPECT_TRUE(is_close(scalar(1.0), 1.1, 0.2).item<bool>());
  EXPECT_FALSE(all_close(scalar(1.0), 1.1, 0, 0.01).item<bool>());
  EXPECT_TRUE(is_close(scalar(1.0), 1.000005, {}).item<bool>());  // the default, and not 0
}

TEST(Formulas, OfComplexNumbers) {
  Tensor z = complex(array<float>({1, -1}), array<float>({2, 0}));
  EXPECT_THAT(imag(conj(z)).to_vector<float>(), ElementsAre(-2, 0));
  EXPECT_THAT(angle(z).to_vector<float>(),
              ElementsAre(std::atan2(2.0F, 1.0F), std::atan2(0.0F, -1.0F)));
  EXPECT_THAT(angle(array<double>({-2, 3, -0.0, 0, NAN})).to_vector<double>(),
              ElementsAre(M_PI, 0, M_PI, 0, IsNan()));
  EXPECT_THAT(conj(array<int>({4})).to_vector<int>(), ElementsAre(4));
}

// As in jax.numpy: nothing is rounded, and nothing is infinite.
TEST(Formulas, LeaveIntegersAsTheyAre) {
  const Tensor x = array<int>({3, -7}), small = array<uint8_t>({200, 0});
  for (auto fn : {floor, ceil, round, round_half_away, trunc, real}) {
    EXPECT_EQ(fn(x).dtype(), s32);
    EXPECT_THAT(ints(fn(x)), ElementsAre(3, -7));
  }
  EXPECT_THAT(ints(nan_to_num(x)), ElementsAre(3, -7));
  EXPECT_THAT(ints(imag(x)), ElementsAre(0, 0));
  EXPECT_THAT(ints(abs(small)), ElementsAre(200, 0));
  EXPECT_THAT(ints(sign(small)), ElementsAre(1, 0));
  EXPECT_EQ(sign(small).dtype(), u8);
  EXPECT_THAT(abs(array<bool>({true, false})).to_vector<bool>(), ElementsAre(true, false));
  EXPECT_THAT(is_finite(x).to_vector<bool>(), ElementsAre(true, true));
  EXPECT_THAT(is_inf(x).to_vector<bool>(), ElementsAre(false, false));
  EXPECT_THAT(error_of([] { floor(ones({2}, c64)); }), HasSubstr("floor: x is c64[2]"));
}

TEST(Formulas, CompareIntegersWithoutGoingAround) {
  const Tensor x = array<int>({INT32_MIN, 1000000, 2}), y = array<int>({INT32_MAX, 1000001, 3});
  EXPECT_THAT(is_close(x, y).to_vector<bool>(), ElementsAre(false, true, false));
  EXPECT_TRUE(all_close(array<int8_t>({-128}), array<int8_t>({-128})).item<bool>());
  EXPECT_FALSE(all_close(array<uint8_t>({255}), array<uint8_t>({0})).item<bool>());
}

// An infinite part makes a number infinite, even beside a NaN.
TEST(Formulas, TellComplexNumbersApart) {
  const Tensor z = complex(array<double>({1, kInf, NAN, NAN}), array<double>({2, 0, -kInf, 1}));
  EXPECT_THAT(is_finite(z).to_vector<bool>(), ElementsAre(true, false, false, false));
  EXPECT_THAT(is_inf(z).to_vector<bool>(), ElementsAre(false, true, true, false));
  const Tensor mended = nan_to_num(z);
  constexpr double kLargest = std::numeric_limits<double>::max();
  EXPECT_THAT(doubles(real(mended)), ElementsAre(1, kLargest, 0, 0));
  EXPECT_THAT(doubles(imag(mended)), ElementsAre(2, 0, -kLargest, 1));
  EXPECT_THAT(is_close(z, z).to_vector<bool>(), ElementsAre(true, true, false, false));
  EXPECT_TRUE(is_close(z[0], complex(1.000005, scalar(2.0))).item<bool>());
}

TEST(Formulas, LogarithmsOfComplexNumbers) {
  const Tensor z = complex(array<double>({-8}), array<double>({0}));
  const auto parts = [](const Tensor& x) {
    return std::pair(doubles(real(x))[0], doubles(imag(x))[0]);
  };
  EXPECT_THAT(parts(log2(z)), testing::Pair(DoubleNear(3, 1e-14), DoubleNear(M_PI / M_LN2, 1e-14)));
  EXPECT_THAT(parts(log10(z)),
              testing::Pair(DoubleNear(std::log10(8), 1e-14), DoubleNear(M_PI / M_LN10, 1e-14)));
  EXPECT_THAT(parts(exp2(log2(z))), testing::Pair(DoubleNear(-8, 1e-13), DoubleNear(0, 1e-13)));
}

TEST(Formulas, RefuseWhatTheyHaveNoMeaningFor) {
  EXPECT_THAT(
      error_of([] { log2(array<int>({1})); }),
      AllOf(HasSubstr("log2: x is s32[1]; it must be of floats"), HasSubstr("math_test.cc:")));
  EXPECT_THAT(
      error_of([] { hypot(ones({2}), ones({3})); }),
      AllOf(HasSubstr("hypot: operands are f32[2] and f32[3]"), HasSubstr("math_test.cc:")));
  EXPECT_THAT(error_of([] { nan_to_num(ones({1}, f8e5m2)); }),
              AllOf(HasSubstr("nan_to_num: x is f8e5m2"), HasSubstr("math_test.cc:")));
  EXPECT_THAT(error_of([] { float_limits(s32); }),
              AllOf(HasSubstr("float_limits: dtype is s32"), HasSubstr("math_test.cc:")));
}

TEST(TrueDivide, IntegersBecomeFloats) {
  const Tensor x = arange(4);
  EXPECT_THAT(true_divide(x, 2).to_vector<float>(), ElementsAre(0, 0.5, 1, 1.5));
  EXPECT_THAT(true_divide(x, 2.5).dtype(), f32);
  EXPECT_EQ(true_divide(x.astype(s64), x.astype(s64)).dtype(), f64);
  EXPECT_THAT(true_divide(ones({2}, f16), 4).to_vector<float>(), ElementsAre(0.25, 0.25));
  EXPECT_EQ(true_divide(7, 2).item<float>(), 3.5);
}

// jax: jnp.remainder(-7, 3) is 2, jax.lax.rem(-7, 3) is -1.
TEST(Remainder, IsPythonsAndRemIsC) {
  const Tensor x = array({7, -7});
  EXPECT_THAT(remainder(x, 3).to_vector<int>(), ElementsAre(1, 2));
  EXPECT_THAT(rem(x, 3).to_vector<int>(), ElementsAre(1, -1));
  EXPECT_THAT((x % 3).to_vector<int>(), ElementsAre(1, -1));
}

// jax.numpy.iinfo.
TEST(IntegerLimits, AreThoseOfNumpy) {
  EXPECT_EQ(integer_limits(s8).least, -128);
  EXPECT_EQ(integer_limits(s64).least, INT64_MIN);
  EXPECT_EQ(integer_limits(u64).greatest, UINT64_MAX);
  EXPECT_EQ(integer_limits(u4).greatest, 15u);
  EXPECT_EQ(integer_limits(s16).bits, 16);
  EXPECT_THAT(error_of([] { integer_limits(f32); }),
              StartsWith("integer_limits: dtype is f32; it must be of integers"));
}

}  // namespace
}  // namespace heddle
