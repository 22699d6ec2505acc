#include "heddle/hlo/literal/native.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "gtest/gtest.h"

namespace heddle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr DType kSmallFloats[] = {f16,        bf16,   f8e5m2, f8e4m3fn, f8e4m3b11fnuz, f8e5m2fnuz,
                                  f8e4m3fnuz, f8e4m3, f8e3m4, f4e2m1fn, f8e8m0fnu};

int pattern_count(DType dtype) { return 1 << bit_width(dtype); }

class SmallFloats : public testing::TestWithParam<DType> {};

// The formats' definitions, told over again: ldexp of a mantissa, and no bit tricks.
double slow_decode(DType dtype, int bits) {
  struct Facts {
    int exponent_bits, mantissa_bits, bias;
    enum { kIeee, kOnlyNaN, kMinusZeroIsNaN, kAllFinite } specials;
  };
  static const std::map<DType, Facts> kFacts = {
      {f16, {5, 10, 15, Facts::kIeee}},
      {bf16, {8, 7, 127, Facts::kIeee}},
      {f8e5m2, {5, 2, 15, Facts::kIeee}},
      {f8e4m3, {4, 3, 7, Facts::kIeee}},
      {f8e3m4, {3, 4, 3, Facts::kIeee}},
      {f8e4m3fn, {4, 3, 7, Facts::kOnlyNaN}},
      {f8e4m3b11fnuz, {4, 3, 11, Facts::kMinusZeroIsNaN}},
      {f8e5m2fnuz, {5, 2, 16, Facts::kMinusZeroIsNaN}},
      {f8e4m3fnuz, {4, 3, 8, Facts::kMinusZeroIsNaN}},
      {f4e2m1fn, {2, 1, 1, Facts::kAllFinite}},
  };
  if (dtype == f8e8m0fnu) return bits == 255 ? kNaN : std::pow(2.0, bits - 127);
  const Facts& f = kFacts.at(dtype);
  int mantissa = bits % (1 << f.mantissa_bits);
  int exponent = bits / (1 << f.mantissa_bits) % (1 << f.exponent_bits);
  double sign = bits / (1 << f.mantissa_bits) / (1 << f.exponent_bits) ? -1 : 1;
  int all_ones = (1 << f.exponent_bits) - 1;
  if (f.specials == Facts::kIeee && exponent == all_ones) return mantissa ? kNaN : sign * kInf;
  if (f.specials == Facts::kOnlyNaN && exponent == all_ones && mantissa == 7) return kNaN;
  if (f.specials == Facts::kMinusZeroIsNaN && bits == pattern_count(dtype) / 2) return kNaN;
  double significand = mantissa + (exponent ? 1 << f.mantissa_bits : 0);
  return sign * std::ldexp(significand, std::max(exponent, 1) - f.bias - f.mantissa_bits);
}

bool same_number(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

TEST_P(SmallFloats, EveryPatternDecodesToItsDefinition) {
  for (int bits = 0; bits < pattern_count(GetParam()); ++bits) {
    double got = decode_small_float(GetParam(), static_cast<uint16_t>(bits));
    EXPECT_PRED2(same_number, got, slow_decode(GetParam(), bits)) << "bits " << bits;
  }
}

TEST_P(SmallFloats, EveryNumberEncodesToItsOwnPattern) {
  for (int bits = 0; bits < pattern_count(GetParam()); ++bits) {
    double value = slow_decode(GetParam(), bits);
    if (std::isnan(value)) continue;
    EXPECT_EQ(encode_small_float(GetParam(), value), bits) << "value " << value;
  }
}

TEST_P(SmallFloats, NaNStaysNaNAndIsZeroWhereTheFormatHasNone) {
  for (double nan : {kNaN, -kNaN}) {
    double got = decode_small_float(GetParam(), encode_small_float(GetParam(), nan));
    EXPECT_TRUE(GetParam() == f4e2m1fn ? got == 0 : std::isnan(got)) << got;
  }
}

// Between two neighbours of the format, the nearer one is taken, and of two equally near the one
// with an even pattern.
// f8e8m0fnu has no even mantissas: halfway goes up.
TEST_P(SmallFloats, RoundsToNearestEven) {
  int step_up = GetParam() == f8e8m0fnu ? 1 : 0;
  for (int bits = 0; bits + 1 < pattern_count(GetParam()); ++bits) {
    double low = slow_decode(GetParam(), bits), high = slow_decode(GetParam(), bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high) || std::signbit(low) != std::signbit(high))
      continue;
    double middle = low + (high - low) / 2;
    int even = step_up ? bits + 1 : bits + bits % 2;
    EXPECT_EQ(encode_small_float(GetParam(), std::nextafter(middle, low)), bits) << middle;
    EXPECT_EQ(encode_small_float(GetParam(), middle), even) << middle;
    EXPECT_EQ(encode_small_float(GetParam(), std::nextafter(middle, high)), bits + 1) << middle;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, SmallFloats, testing::ValuesIn(kSmallFloats),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// What lies above the largest number: infinity (IEEE), NaN (fn, fnuz, e8m0) or the largest number
// (f4e2m1fn). Halfway to the next number that would be there rounds to even: up to an even pattern
// overflows, down to an even pattern does not.
// The figures are those of ml_dtypes 0.6.0.
struct Overflow {
  DType dtype;
  double largest, halfway;
  uint16_t at_largest, at_halfway, at_infinity, at_minus_infinity;
};

class Overflows : public testing::TestWithParam<Overflow> {};

TEST_P(Overflows, AreWhatTheFormatSays) {
  const Overflow& row = GetParam();
  EXPECT_EQ(encode_small_float(row.dtype, row.largest), row.at_largest);
  EXPECT_EQ(encode_small_float(row.dtype, row.halfway), row.at_halfway);
  EXPECT_EQ(encode_small_float(row.dtype, kInf), row.at_infinity);
  EXPECT_EQ(encode_small_float(row.dtype, -kInf), row.at_minus_infinity);
  EXPECT_EQ(encode_small_float(row.dtype, 1e300), row.at_infinity);
}

INSTANTIATE_TEST_SUITE_P(
    EveryFormat, Overflows,
    testing::Values(Overflow{f16, 65504, 65520, 0x7BFF, 0x7C00, 0x7C00, 0xFC00},
                    Overflow{bf16, 0x1.FEp127, 0x1.FFp127, 0x7F7F, 0x7F80, 0x7F80, 0xFF80},
                    Overflow{f8e5m2, 57344, 61440, 0x7B, 0x7C, 0x7C, 0xFC},
                    Overflow{f8e4m3fn, 448, 464, 0x7E, 0x7E, 0x7F, 0xFF},
                    Overflow{f8e4m3b11fnuz, 30, 31, 0x7F, 0x80, 0x80, 0x80},
                    Overflow{f8e5m2fnuz, 57344, 61440, 0x7F, 0x80, 0x80, 0x80},
                    Overflow{f8e4m3fnuz, 240, 248, 0x7F, 0x80, 0x80, 0x80},
                    Overflow{f8e4m3, 240, 248, 0x77, 0x78, 0x78, 0xF8},
                    Overflow{f8e3m4, 15.5, 15.75, 0x6F, 0x70, 0x70, 0xF0},
                    Overflow{f4e2m1fn, 6, 7, 0x7, 0x7, 0x7, 0xF},
                    Overflow{f8e8m0fnu, 0x1p127, 0x1.8p127, 0xFE, 0xFF, 0xFF, 0xFF}),
    [](const auto& info) { return std::string(to_string(info.param.dtype)); });

TEST(SmallFloat, NegativeUnderflowIsMinusZeroButForFnuz) {
  EXPECT_EQ(encode_small_float(f16, -1e-300), 0x8000);
  EXPECT_EQ(encode_small_float(f8e5m2, -5e-324), 0x80);
  EXPECT_EQ(encode_small_float(f8e4m3fnuz, -1e-300), 0);
  EXPECT_EQ(encode_small_float(f8e5m2fnuz, -0.0), 0);
}

TEST(SmallFloat, E8M0HasNoZeroAndNoNegatives) {
  EXPECT_EQ(encode_small_float(f8e8m0fnu, 0.0), 0xFF);
  EXPECT_EQ(encode_small_float(f8e8m0fnu, -1.0), 0xFF);
  EXPECT_EQ(encode_small_float(f8e8m0fnu, 0x1p-140), 0x00);
}

// Hardware float is an independent reference: f32 to bf16 by adding half a unit of the last place
// to the bits.
TEST(SmallFloat, RandomFloatsRoundToBf16AsBitsSay) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    uint32_t bits = random();
    if (std::isnan(std::bit_cast<float>(bits))) continue;
    uint32_t want = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    ASSERT_EQ(encode_small_float(bf16, std::bit_cast<float>(bits)), want) << std::hex << bits;
  }
}

}  // namespace
}  // namespace heddle
