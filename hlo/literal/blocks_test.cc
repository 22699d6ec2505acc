#include "heddle/hlo/literal/blocks.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "heddle/base/support_test.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::vector<T> stored(DType dtype, std::vector<double> values) {
  std::vector<T> out(values.size());
  store(dtype, values.data(), static_cast<int64_t>(values.size()),
        reinterpret_cast<std::byte*>(out.data()));
  return out;
}

TEST(Store, DoublesSaturateToIntegersAndNaNIsZero) {
  EXPECT_THAT(stored<int8_t>(s8, {1.9, -1.9, 300, -300, kNaN}), ElementsAre(1, -1, 127, -128, 0));
  EXPECT_THAT(stored<uint8_t>(u8, {1.9, -1.9, 300, 255.9, kNaN}), ElementsAre(1, 0, 255, 255, 0));
  EXPECT_THAT(stored<int64_t>(s64, {kInf, -kInf, 0x1p63, -0x1p63}),
              ElementsAre(INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN));
  EXPECT_THAT(stored<uint64_t>(u64, {kInf, -kInf, 0x1p63, 0x1p64}),
              ElementsAre(UINT64_MAX, 0u, uint64_t{1} << 63, UINT64_MAX));
}

TEST(Store, DoublesSaturateToSubByteIntegers) {
  EXPECT_THAT(stored<int8_t>(s4, {9, -9, 3.7}), ElementsAre(7, -8, 3));
  EXPECT_THAT(stored<uint8_t>(u4, {17, -9, 3.7}), ElementsAre(15, 0, 3));
  EXPECT_THAT(stored<int8_t>(s2, {2, -3}), ElementsAre(1, -2));
  EXPECT_THAT(stored<int8_t>(s1, {1, -1}), ElementsAre(0, -1));
  EXPECT_THAT(stored<uint8_t>(u1, {2, -1}), ElementsAre(1, 0));
}

TEST(Store, DoublesArePredWhenNotZero) {
  EXPECT_THAT(stored<uint8_t>(pred, {0, -0.0, 0.1, kNaN}), ElementsAre(0, 0, 1, 1));
}

TEST(Store, IntegersWrapToTheWidth) {
  int64_t values[] = {127, 128, -129, 7, 8};
  int8_t bytes[5];
  store(s8, values, 5, reinterpret_cast<std::byte*>(bytes));
  EXPECT_THAT(bytes, ElementsAre(127, -128, 127, 7, 8));
  store(s4, values, 5, reinterpret_cast<std::byte*>(bytes));
  EXPECT_THAT(bytes, ElementsAre(-1, 0, -1, 7, -8));
}

// 2^60 + 2^36 + 1 lies just above the middle of two f32; through f64 rounded to even it would fall
// on the middle, and go down.
TEST(Store, WideIntegersRoundOnceToFloats) {
  int64_t value = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  float got = 0;
  store(f32, &value, 1, reinterpret_cast<std::byte*>(&got));
  EXPECT_EQ(got, 0x1p60f + 0x1p37f);
}

TEST(Load, WideIntegersRoundToOddWhenAsked) {
  uint64_t value = (uint64_t{1} << 63) + 1;
  double even = 0, odd = 0;
  load(u64, reinterpret_cast<std::byte*>(&value), 1, &even);
  load(u64, reinterpret_cast<std::byte*>(&value), 1, &odd, WideInt::kOdd);
  EXPECT_EQ(even, 0x1p63);
  EXPECT_EQ(odd, 0x1p63 + 0x1p11);
}

TEST(Literal, ScalarsOfEveryTypeReadBackAsWritten) {
#define HEDDLE_X(enumerator, text, ...) \
  EXPECT_EQ(Literal::scalar(text, 1.0).to_double(0), text == s1 ? 0.0 : 1.0) << #text;
  HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
}

TEST(Literal, ScalarOfAnIntegerKeepsAll64Bits) {
  EXPECT_EQ(Literal::scalar(u64, int64_t{-1}).to_int64(0), -1);
  EXPECT_EQ(Literal::scalar(s64, INT64_MIN).to_int64(0), INT64_MIN);
  EXPECT_EQ(Literal::scalar(f32, int64_t{7}).to_double(0), 7.0);
}

TEST(Literal, ToInt64TruncatesAndSaturatesFloats) {
  EXPECT_EQ(Literal::scalar(f32, -2.7).to_int64(0), -2);
  EXPECT_EQ(Literal::scalar(f64, 1e300).to_int64(0), INT64_MAX);
  EXPECT_EQ(Literal::scalar(f64, kNaN).to_int64(0), 0);
}

}  // namespace
}  // namespace heddle
