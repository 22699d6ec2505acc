// convert, bitcast-convert, stochastic-convert, reduce-precision and copy.
#include <cmath>
#include <complex>

#include "heddle/base/support_test.h"
#include "heddle/base/system/subnormals.h"
#include "heddle/hlo/literal/native.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using namespace op_testing;

constexpr DType kAllTypes[] = {
#define HEDDLE_X(enumerator, text, ...) text,
    HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
};

Literal converted(const Literal& x, DType to) {
  return evaluate(Opcode::kConvert, {x}, {}, x.shape().with_dtype(to));
}

// 0 and 1 are in every type but s1, which has -1 and 0, and f8e8m0fnu, which has no 0.
TEST(Convert, KeepsOneBetweenAllTypes) {
  for (DType from : kAllTypes) {
    for (DType to : kAllTypes) {
      if (from == s1 || to == s1) continue;
      EXPECT_EQ(converted(Literal::scalar(from, 1.0), to), Literal::scalar(to, 1.0))
          << to_string(from) << " to " << to_string(to);
    }
  }
}

TEST(Convert, FloatsToIntegersTruncateSaturateAndTakeNaNAsZero) {
  const Literal x = array(f32, {2.9, -2.9, 1e10, -1e10, kInf, -kInf, kNaN});
  EXPECT_THAT(integers(converted(x, s32)),
              ElementsAre(2, -2, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 0));
  EXPECT_THAT(integers(converted(x, u8)), ElementsAre(2, 0, 255, 0, 255, 0, 0));
}

TEST(Convert, IntegersToIntegersWrap) {
  const Literal x = array(s32, {-1, 255, 256, 127, 128});
  EXPECT_THAT(integers(converted(x, s8)), ElementsAre(-1, -1, 0, 127, -128));
  EXPECT_THAT(integers(converted(x, u8)), ElementsAre(255, 255, 0, 127, 128));
  EXPECT_THAT(integers(converted(x, u4)), ElementsAre(15, 15, 0, 15, 0));
}

TEST(Convert, SignedIntegersExtendTheirSignToUnsignedOnes) {
  EXPECT_EQ(converted(Literal::scalar(s8, int64_t{-1}), u64).to_int64(0), -1);
  EXPECT_EQ(converted(Literal::scalar(u64, int64_t{-1}), f64).to_double(0), 0x1p64);
}

TEST(Convert, WideIntegersRoundOnceToNarrowFloats) {
  const Literal x =
      Literal::scalar(u64, static_cast<int64_t>((uint64_t{1} << 63) + (uint64_t{1} << 39) + 1));
  EXPECT_EQ(converted(x, f32).to_double(0), 0x1p63 + 0x1p40);
}

TEST(Convert, F64RoundsOnceToBf16) {
  EXPECT_EQ(converted(Literal::scalar(f64, 1 + 0x1p-8 + 0x1p-40), bf16).to_double(0), 1 + 0x1p-7);
}

TEST(Convert, ToPredIsNotZero) {
  EXPECT_THAT(integers(converted(array(f32, {0, -0.0, 0.5, kNaN}), pred)), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(integers(converted(array(s16, {0, 2, -256}), pred)), ElementsAre(0, 1, 1));
}

TEST(Convert, ComplexToRealDropsTheImaginaryPart) {
  using C = std::complex<double>;
  const Literal z = Literal::from<C>(Shape(c128, {2}), {C(2.5, 7), C(0, 3)});
  EXPECT_THAT(numbers(converted(z, f32)), ElementsAre(2.5, 0));
  EXPECT_THAT(integers(converted(z, s32)), ElementsAre(2, 0));
  EXPECT_THAT(integers(converted(z, pred)), ElementsAre(1, 1));
}

TEST(Convert, RealToComplexHasNoImaginaryPart) {
  const Literal z = converted(array(bf16, {1.5}), c64);
  EXPECT_EQ(z.values<std::complex<float>>()[0], std::complex<float>(1.5, 0));
}

TEST(Convert, OfItsOwnTypeKeepsTheBuffer) {
  std::vector<Literal> operands;
  operands.push_back(array(f32, {1}));
  const std::byte* bytes = operands[0].bytes();
  EXPECT_EQ(evaluate(Opcode::kConvert, std::move(operands), {}, Shape(f32, {1})).bytes(), bytes);
}

TEST(BitcastConvert, KeepsBitsBetweenTypesOfAWidth) {
  const Literal z = evaluate(Opcode::kBitcastConvert, {array(f32, {1, -0.0})}, {}, Shape(u32, {2}));
  EXPECT_THAT(integers(z), ElementsAre(0x3F800000, 0x80000000));
  EXPECT_EQ(evaluate(Opcode::kBitcastConvert, {array(s4, {-1})}, {}, Shape(u4, {1})).to_int64(0),
            15);
  EXPECT_EQ(evaluate(Opcode::kBitcastConvert, {array(u4, {15})}, {}, Shape(s4, {1})).to_int64(0),
            -1);
}

TEST(BitcastConvert, SplitsIntoANewLastDimensionLowestFirst) {
  const Literal z =
      evaluate(Opcode::kBitcastConvert, {array(u32, {0x04030201})}, {}, Shape(u8, {1, 4}));
  EXPECT_THAT(integers(z), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(
      integers(evaluate(Opcode::kBitcastConvert, {array(u8, {0xA7})}, {}, Shape(s4, {1, 2}))),
      ElementsAre(7, -6));
}

TEST(BitcastConvert, JoinsTheLastDimension) {
  const Literal bytes = array(u8, {1, 2, 3, 4}).reshaped(Shape(u8, {2, 2}));
  EXPECT_THAT(integers(evaluate(Opcode::kBitcastConvert, {bytes}, {}, Shape(u16, {2}))),
              ElementsAre(0x0201, 0x0403));
  const Literal nibbles = array(s4, {7, -6, 1, 0}).reshaped(Shape(s4, {2, 2}));
  EXPECT_THAT(integers(evaluate(Opcode::kBitcastConvert, {nibbles}, {}, Shape(u8, {2}))),
              ElementsAre(0xA7, 0x01));
}

TEST(BitcastConvert, ThereAndBackKeepsEveryPattern) {
  Literal all(Shape(s16, {65536}));
  for (int i = 0; i < 65536; ++i)
    all.mutable_values<int16_t>()[static_cast<size_t>(i)] = static_cast<int16_t>(i);
  for (const Shape& through :
       {Shape(f16, {65536}), Shape(s8, {65536, 2}), Shape(u4, {65536, 4}), Shape(u2, {65536, 8})}) {
    const Literal there = evaluate(Opcode::kBitcastConvert, {all}, {}, through);
    EXPECT_EQ(evaluate(Opcode::kBitcastConvert, {there}, {}, all.shape()), all)
        << to_string(through);
  }
}

TEST(StochasticConvert, RoundsAwayFromZeroWhereTheFractionExceedsRandom) {
  const Literal x = array(f32, {1.25, 1.25, -1.25, -1.25, 3, kNaN, 300});
  const Literal random = array(u32, {0x3FFFFFFF, 0x40000000, 0x3FFFFFFF, 0x40000000, 0, 0, 0});
  const Literal z = evaluate(Opcode::kStochasticConvert, {x, random}, {}, Shape(s8, {7}));
  EXPECT_THAT(integers(z), ElementsAre(2, 1, -2, -1, 3, 0, 127));
}

TEST(StochasticConvert, ToFloatsIsNotOffered) {
  auto value = try_evaluate(Opcode::kStochasticConvert, {array(f32, {1}), array(u32, {0})}, {},
                            Shape(bf16, {1}));
  EXPECT_EQ(base::message_of(value.status()),
            "stochastic-convert: the result is bf16[1]; only integers are offered, use convert");
}

Literal reduced(const Literal& x, int64_t exponent_bits, int64_t mantissa_bits) {
  return evaluate(Opcode::kReducePrecision, {x},
                  ReducePrecisionAttrs{exponent_bits, mantissa_bits});
}

// Every f32 whose low half is one of a few patterns, through bf16's format: the same as convert to
// bf16 and back, but for subnormals.
TEST(ReducePrecision, ToEightAndSevenBitsIsBf16) {
  Literal x(Shape(f32, {65536 * 5}));
  auto bits = x.mutable_values<uint32_t>();
  for (uint32_t i = 0; i < bits.size(); ++i)
    bits[i] = (i / 5) << 16 | std::array{0u, 1u, 0x7FFFu, 0x8000u, 0x8001u}[i % 5];
  EXPECT_EQ(numbers(reduced(x, 8, 7)).size(), bits.size());
  const Literal got = reduced(x, 8, 7), want = converted(converted(x, bf16), f32);
  for (int64_t i = 0; i < x.element_count(); ++i) {
    if (std::isnan(x.to_double(i))) continue;
    ASSERT_EQ(got.to_double(i), want.to_double(i)) << x.to_double(i);
  }
}

TEST(ReducePrecision, OverflowsToInfinityAndFlushesSmallNumbers) {
  const Literal x = array(f32, {65504, 65520, -1e30, 0x1p-14, 0x1p-15, -0x1p-15});
  const std::vector<double> got = numbers(reduced(x, 5, 10));
  EXPECT_THAT(got, ElementsAre(65504, kInf, -kInf, 0x1p-14, 0, 0));
  EXPECT_TRUE(std::signbit(got[5]));
}

TEST(ReducePrecision, RoundsTiesToEven) {
  EXPECT_THAT(numbers(reduced(array(f64, {1.25, 1.75, 1.5, -1.25}), 11, 1)),
              ElementsAre(1, 2, 1.5, -1));
}

TEST(ReducePrecision, KeepsNaNUnlessThereIsNoMantissa) {
  EXPECT_TRUE(std::isnan(reduced(array(f32, {kNaN}), 5, 2).to_double(0)));
  EXPECT_EQ(reduced(array(f32, {kNaN}), 5, 0).to_double(0), kInf);
}

// Where subnormals are flushed, the unit of f64's own is nothing to divide by.
TEST(ReducePrecision, KeepsZerosWhereSubnormalsAreFlushed) {
  const FlushSubnormals flushed(true);
  const std::vector<double> got = numbers(reduced(array(f64, {0, -0.0, 1.25}), 5, 1));
  EXPECT_THAT(got, ElementsAre(0, 0, 1));
  EXPECT_TRUE(std::signbit(got[1]));
}

// f8e4m3fn has numbers up to 448, where 4 exponent bits end at 240; its least subnormal is no
// normal number of 4 bits.
TEST(ReducePrecision, OfSmallFloatsIsRoundedAsF16) {
  const Literal got = reduced(array(f8e4m3fn, {240, 256, 0x1p-6, 0x1p-9}), 4, 3);
  EXPECT_EQ(got.to_double(0), 240);
  EXPECT_TRUE(std::isnan(got.to_double(1)));  // infinity, which the type does not have
  EXPECT_EQ(got.to_double(2), 0x1p-6);
  EXPECT_EQ(got.to_double(3), 0);
  EXPECT_THAT(numbers(reduced(array(f4e2m1fn, {2, 3, 4}), 2, 1)), ElementsAre(2, 3, 6));
}

TEST(ReducePrecision, ToAsManyBitsKeepsEveryNumber) {
  const Literal x = array(f16, {1.0009765625, 65504, 0x1p-24, -0.0, kInf});
  EXPECT_EQ(reduced(x, 5, 10), x);
}

TEST(Copy, IsTheOperandTuplesToo) {
  const Literal x = Literal::tuple({array(f32, {1, 2}), Literal::scalar(s32, int64_t{3})});
  EXPECT_EQ(evaluate(Opcode::kCopy, {x}), x);
}

}  // namespace
}  // namespace heddle::interpreter
