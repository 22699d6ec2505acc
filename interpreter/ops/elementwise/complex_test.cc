// Complex elementwise ops: definitions by real functions and identities, checked in long double;
// and what happens at the edges.
#include <cmath>
#include <complex>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using namespace op_testing;
using C64 = std::complex<float>;
using C128 = std::complex<double>;
using Wide = std::complex<long double>;

Literal scalar(C64 z) { return Literal::from<C64>(Shape::scalar(c64), {z}); }
Literal scalar(C128 z) { return Literal::from<C128>(Shape::scalar(c128), {z}); }

template <class T>
T apply(Opcode opcode, T z) {
  return evaluate(opcode, {scalar(z)}).template values<T>()[0];
}
template <class T>
T apply(Opcode opcode, T x, T y) {
  return evaluate(opcode, {scalar(x), scalar(y)}).template values<T>()[0];
}

// Relative distance of complex numbers.
long double distance(Wide got, Wide want) { return std::abs(got - want) / std::abs(want); }

struct Function {
  Opcode opcode;
  Wide (*value)(Wide z);
};

// By exponentials and logarithms, unlike the definitions, which call libm.
const Wide kI(0, 1);
const Function kFunctions[] = {
    {Opcode::kExp, [](Wide z) { return std::polar(std::exp(z.real()), z.imag()); }},
    {Opcode::kExpm1, [](Wide z) { return std::polar(std::exp(z.real()), z.imag()) - 1.0L; }},
    {Opcode::kLog, [](Wide z) { return Wide(std::log(std::abs(z)), std::arg(z)); }},
    {Opcode::kLog1p, [](Wide z) { return std::log(1.0L + z); }},
    {Opcode::kLogistic, [](Wide z) { return (1.0L + std::tanh(z / 2.0L)) / 2.0L; }},
    {Opcode::kSqrt, [](Wide z) { return std::polar(std::sqrt(std::abs(z)), std::arg(z) / 2); }},
    {Opcode::kRsqrt,
     [](Wide z) { return std::polar(1 / std::sqrt(std::abs(z)), -std::arg(z) / 2); }},
    {Opcode::kCbrt, [](Wide z) { return std::exp(std::log(z) / 3.0L); }},
    {Opcode::kSin, [](Wide z) { return (std::exp(kI * z) - std::exp(-kI * z)) / (2.0L * kI); }},
    {Opcode::kCos, [](Wide z) { return (std::exp(kI * z) + std::exp(-kI * z)) / 2.0L; }},
    {Opcode::kTan, [](Wide z) { return std::sin(z) / std::cos(z); }},
    {Opcode::kSinh, [](Wide z) { return (std::exp(z) - std::exp(-z)) / 2.0L; }},
    {Opcode::kCosh, [](Wide z) { return (std::exp(z) + std::exp(-z)) / 2.0L; }},
    {Opcode::kTanh, [](Wide z) { return std::sinh(z) / std::cosh(z); }},
    {Opcode::kAsin, [](Wide z) { return -kI * std::log(kI * z + std::sqrt(1.0L - z * z)); }},
    {Opcode::kAcos,
     [](Wide z) { return std::acos(-1.0L) / 2 + kI * std::log(kI * z + std::sqrt(1.0L - z * z)); }},
    {Opcode::kAtan,
     [](Wide z) { return (std::log(1.0L + kI * z) - std::log(1.0L - kI * z)) / (2.0L * kI); }},
    {Opcode::kAsinh, [](Wide z) { return std::log(z + std::sqrt(z * z + 1.0L)); }},
    {Opcode::kAcosh,
     [](Wide z) { return std::log(z + std::sqrt(z + 1.0L) * std::sqrt(z - 1.0L)); }},
    {Opcode::kAtanh, [](Wide z) { return (std::log(1.0L + z) - std::log(1.0L - z)) / 2.0L; }},
    {Opcode::kSign, [](Wide z) { return z / std::abs(z); }},
    {Opcode::kNegate, [](Wide z) { return -z; }},
};

class ComplexFunctions : public testing::TestWithParam<Function> {};

// The reference formulas cancel a few of the 64 bits of long double; what is left decides c64 and
// nearly c128.
TEST_P(ComplexFunctions, AreRightToAUnitOfTheLastPlace) {
  for (double re : {-2.25, -0.5, 0.125, 0.75, 3.0}) {
    for (double im : {-1.5, -0.25, 0.375, 2.0}) {
      SCOPED_TRACE(base::cat(to_string(GetParam().opcode), " of ", re, " + ", im, "i"));
      const Wide want = GetParam().value(Wide(re, im));
      EXPECT_LE(distance(Wide(apply(GetParam().opcode, C64(C128(re, im)))), want), 0x1p-23L);
      EXPECT_LE(distance(Wide(apply(GetParam().opcode, C128(re, im))), want), 0x1p-52L);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, ComplexFunctions, testing::ValuesIn(kFunctions),
                         [](const auto& info) {
                           std::string name(to_string(info.param.opcode));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(ComplexOp, ProductsAndQuotientsUndoEachOther) {
  const C128 x(1.25, -3.5), y(-0.75, 2.125);
  EXPECT_LE(distance(Wide(apply(Opcode::kDivide, apply(Opcode::kMultiply, x, y), y)), Wide(x)),
            0x1p-51L);
}

TEST(ComplexOp, QuotientsOfTheLargestNumbersDoNotOverflow) {
  EXPECT_EQ(apply(Opcode::kDivide, C64(3e38f, 3e38f), C64(3e38f, 3e38f)), C64(1, 0));
  EXPECT_EQ(apply(Opcode::kDivide, C128(1e308, -1e308), C128(1e308, -1e308)), C128(1, 0));
  EXPECT_EQ(apply(Opcode::kDivide, C128(1e-308, 1e-308), C128(1e-308, 1e-308)), C128(1, 0));
}

TEST(ComplexOp, DividingByZeroGivesInfinities) {
  EXPECT_EQ(apply(Opcode::kDivide, C64(1, -2), C64(0, 0)), C64(kInf, -kInf));
}

TEST(ComplexOp, DividingByInfinityGivesZero) {
  EXPECT_EQ(apply(Opcode::kDivide, C64(1, -2), C64(kInf, 1)), C64(0, 0));
}

TEST(ComplexOp, AbsoluteValuesDoNotOverflow) {
  EXPECT_EQ(evaluate(Opcode::kAbs, {scalar(C128(3e307, 4e307))}).to_double(0), 5e307);
  EXPECT_EQ(evaluate(Opcode::kAbs, {scalar(C64(-kInf, 1))}).to_double(0), kInf);
}

TEST(ComplexOp, NearZeroExpm1AndLog1pKeepTheirDigits) {
  const C64 tiny(1e-20f, -2e-20f);
  EXPECT_EQ(apply(Opcode::kExpm1, tiny), tiny);
  EXPECT_EQ(apply(Opcode::kLog1p, tiny), tiny);
}

TEST(ComplexOp, TanhOfLargeNumbersIsOne) {
  EXPECT_EQ(apply(Opcode::kTanh, C64(1000, 1)).real(), 1);
}

// Products of functions of the parts, as XLA has them, not Annex G's table.
TEST(ComplexOp, ZeroTimesInfinityIsNaN) {
  const auto is_nan = [](C64 z) { return std::isnan(z.real()) && std::isnan(z.imag()); };
  for (float inf : {INFINITY, -INFINITY}) {
    EXPECT_TRUE(is_nan(apply(Opcode::kCos, C64(inf, 0))));
    EXPECT_TRUE(is_nan(apply(Opcode::kTan, C64(inf, 0))));
    EXPECT_TRUE(is_nan(apply(Opcode::kTanh, C64(0, inf))));
    EXPECT_TRUE(is_nan(apply(Opcode::kExp, C64(-inf, inf))));
    EXPECT_TRUE(is_nan(apply(Opcode::kLogistic, C64(inf, -inf))));
  }
}

// Though cosh(100) is infinite as f32.
TEST(ComplexOp, SineAndCosineKeepTheZeroOfAnImaginaryNumber) {
  for (float im : {100.0F, -100.0F, INFINITY, -INFINITY}) {
    EXPECT_EQ(apply(Opcode::kSin, C64(0, im)), C64(0, std::copysign(INFINITY, im)));
    EXPECT_EQ(apply(Opcode::kCos, C64(0, im)), C64(INFINITY, 0));
  }
  EXPECT_EQ(apply(Opcode::kSin, C64(0, NAN)).real(), 0);
  EXPECT_EQ(apply(Opcode::kSin, C128(0, -100)).real(), 0);
}

TEST(ComplexOp, NaNInOnePartIsNaN) {
  for (const C64 z : {C64(INFINITY, NAN), C64(NAN, -INFINITY)}) {
    EXPECT_TRUE(std::isnan(evaluate(Opcode::kAbs, {scalar(z)}).to_double(0)));
    EXPECT_TRUE(std::isnan(apply(Opcode::kLog, z).real()));
    EXPECT_TRUE(std::isnan(apply(Opcode::kLog1p, z).real()));
    EXPECT_TRUE(std::isnan(apply(Opcode::kSqrt, z).real()));
  }
}

TEST(ComplexOp, RootsOfNegativeNumbersAreAboveTheRealAxis) {
  for (double zero : {0.0, -0.0}) EXPECT_EQ(apply(Opcode::kSqrt, C128(-4, zero)), C128(0, 2));
  EXPECT_EQ(apply(Opcode::kSqrt, C128(-4, -1e-300)).imag(), -2);
}

TEST(ComplexOp, PowersOfZero) {
  EXPECT_EQ(apply(Opcode::kPower, C64(0, 0), C64(0, 0)), C64(1, 0));
  EXPECT_EQ(apply(Opcode::kPower, C64(0, 0), C64(2, 0)), C64(0, 0));
}

TEST(ComplexOp, PowersAreExponentialsOfLogarithms) {
  const Wide x(1.5L, -0.25L), y(0.5L, 2);
  EXPECT_LE(distance(Wide(apply(Opcode::kPower, C128(1.5, -0.25), C128(0.5, 2))),
                     std::exp(y * std::log(x))),
            0x1p-51L);
}

TEST(ComplexOp, Atan2OfRealNumbersIsThatOfTheReals) {
  const C128 z = apply(Opcode::kAtan2, C128(1, 0), C128(-2, 0));
  EXPECT_NEAR(z.real(), std::atan2(1, -2), 0x1p-51);
  EXPECT_NEAR(z.imag(), 0, 0x1p-51);
}

TEST(ComplexOp, PartsComeApartAndTogether) {
  const Literal re = op_testing::array(f64, {1, -0.0}), im = op_testing::array(f64, {kInf, 2});
  const Literal z = evaluate(Opcode::kComplex, {re, im});
  EXPECT_EQ(to_string(z.shape()), "c128[2]");
  EXPECT_EQ(evaluate(Opcode::kReal, {z}), re);
  EXPECT_EQ(evaluate(Opcode::kImag, {z}), im);
}

}  // namespace
}  // namespace heddle::interpreter
