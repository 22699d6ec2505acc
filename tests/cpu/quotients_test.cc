// Quotients by constants have the bits of the division, subnormal ones and specials too.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

constexpr size_t kCount = 1 << 16;

// Of all exponents; many lie where the quotient is in the middle of two subnormal numbers, or near.
std::vector<float> dividends(float divisor, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> all;
  const float inf = std::numeric_limits<float>::infinity();
  for (float x : {0.0F, inf, std::numeric_limits<float>::quiet_NaN(),
                  std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(),
                  std::numeric_limits<float>::min(), 1.0F, divisor}) {
    all.push_back(x);
    all.push_back(-x);
  }
  while (all.size() < kCount) {
    all.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
    const double middle = std::ldexp(static_cast<double>(random() >> (40 + random() % 23)), -150);
    const auto near = static_cast<float>(middle * divisor);
    all.push_back(near);
    all.push_back(-std::nextafter(near, inf));
    all.push_back(std::nextafter(near, -inf));
  }
  all.resize(kCount);
  return all;
}

TEST(Quotients, ByConstantsAreRoundedAsDivisions) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (float divisor : {0.99F,
                        98.0F,
                        150.0F,
                        3.0F,
                        -10.0F,
                        0.01F,
                        6.0F,
                        255.0F,
                        1.1F,
                        2197.0F,
                        1000.0F,
                        9.8F,
                        0.25F,
                        -1024.0F,
                        0x1p-126F,
                        0x1p127F,
                        0x1p-149F,
                        1.5e38F,
                        3e-39F,
                        16777214.0F,
                        1.9999999F,
                        0.0F,
                        std::numeric_limits<float>::infinity()}) {
    SCOPED_TRACE(divisor);
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(divisor));
    const hlo::Module module =
        hlo::parse_text(base::cat("HloModule m\nENTRY e { x = f32[", kCount, "] parameter(0)\n",
                                  "  d = f32[] constant(", text, ")\n  ds = f32[", kCount,
                                  "] broadcast(d), dimensions={}\n  ROOT q = f32[", kCount,
                                  "] divide(x, ds) }"))
            .value();
    const std::vector<float> xs = dividends(divisor, 7);
    const Shape shape(f32, {static_cast<int64_t>(kCount)});
    const Literal got = OnCpu(module).run({Literal::from<float>(shape, std::span(xs))});
    int wrong = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const float q = got.values<float>()[i], want = xs[i] / divisor;
      const bool is_right = std::isnan(want)
                                ? std::isnan(q)
                                : std::bit_cast<uint32_t>(q) == std::bit_cast<uint32_t>(want);
      if (!is_right && ++wrong < 5) ADD_FAILURE() << xs[i] << " gives " << q << ", not " << want;
    }
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace heddle::cpu
