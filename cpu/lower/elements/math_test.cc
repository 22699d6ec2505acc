#include "heddle/cpu/lower/elements/math.h"

#include <gtest/gtest.h>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

// Of x^y for one vector of f32.
Plan power_plan(std::string_view y) {
  return plan_of(
      base::cat(" x = f32[16] parameter(0)\n c = f32[] constant(", y,
                ")\n y = f32[16] broadcast(c), dimensions={}\n ROOT r = f32[16] power(x, y)"));
}

TEST(Math, PowersOfHalvesAreRoots) {
  for (const std::string_view y : {"0.5", "1.5", "-0.5", "-1.5"}) {
    const Plan plan = power_plan(y);
    EXPECT_EQ(count(plan, Op::kSqrt), 1) << y;
    EXPECT_LT(plan.nodes.size(), 30u) << y;
  }
  for (const std::string_view y : {"1", "2", "3", "-1", "-2"})
    EXPECT_LT(power_plan(y).nodes.size(), 12u) << y;
}

TEST(Math, OtherPowersAreTheFormula) {
  EXPECT_EQ(count(power_plan("0.7"), Op::kSqrt), 0);
  EXPECT_GT(power_plan("0.7").nodes.size(), 100u);
}

// 1 + exp(x), with something else that reads exp(x) or without.
int64_t sum_plan(std::string_view c, std::string_view result) {
  const Plan plan = plan_of(
      base::cat(" x = f32[16] parameter(0)\n c = f32[] constant(", c,
                ")\n one = f32[16] broadcast(c), dimensions={}\n e = f32[16] exponential(x)\n"
                " s = f32[16] add(e, one)\n ROOT r = ",
                result));
  return std::ssize(plan.nodes);
}

TEST(Math, AConstantPlusAnExponentialNeedsNoSubnormalNumbers) {
  const std::string_view alone = "f32[16] negate(s)";
  EXPECT_LT(sum_plan("1", alone), sum_plan("1e-30", alone) - 5);
  const std::string_view beside = "f32[16] multiply(s, e)";
  EXPECT_EQ(sum_plan("1", beside), sum_plan("1e-30", beside));
}

}  // namespace
}  // namespace heddle::cpu
