#include "heddle/codegen/plan/quotients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

namespace heddle::cpu {
namespace {

TEST(InverseParts, RoundAllQuotientsAsTheDivision) {
  for (const float divisor : {3.0F, 0.99F, 98.0F, -1e-5F, 1.9999999F, 16777214.0F}) {
    const auto parts = inverse_in_parts(divisor);
    ASSERT_TRUE(parts) << divisor;
    int64_t wrong = 0;
    for (float x = 1; x < 2; x = std::nextafter(x, 2.0F))
      wrong += std::fma(x, parts->high, x * parts->low) != x / divisor ? 1 : 0;
    EXPECT_EQ(wrong, 0) << divisor;
  }
}

TEST(InverseParts, AreNotGivenWhereOneQuotientRoundsOtherwise) {
  for (const float divisor : {0.7F, 0.999F, 0.0F, INFINITY, 0x1p-149F, 3e-39F, 0.25F, -1.0F})
    EXPECT_FALSE(inverse_in_parts(divisor)) << divisor;
}

// Dividends whose quotients are near the middle of two neighbours.
TEST(InverseParts, RoundQuotientsOfF64) {
  std::mt19937_64 random(7);
  int given = 0;
  for (int i = 0; i < 1000; ++i) {
    const double divisor = std::ldexp(static_cast<double>(random() >> 11 | 1), -52);
    const auto parts = inverse_in_parts(divisor);
    if (!parts) continue;
    ++given;
    for (int k = 0; k < 1000; ++k) {
      const double below = std::ldexp(static_cast<double>(random() >> 11 | 1), -52);
      const double half = std::ldexp(1, std::ilogb(below) - 53);
      const double x = std::fma(below, divisor, half * divisor);
      ASSERT_EQ(std::fma(x, parts->high, x * parts->low), x / divisor) << x << " by " << divisor;
    }
  }
  EXPECT_GT(given, 900);
}

TEST(InverseParts, KeepTheSignOfZero) {
  const auto parts = inverse_in_parts(-3.0F).value();
  EXPECT_FALSE(std::signbit(std::fma(-0.0F, parts.high, -0.0F * parts.low)));
  EXPECT_TRUE(std::signbit(std::fma(0.0F, parts.high, 0.0F * parts.low)));
}

}  // namespace
}  // namespace heddle::cpu
