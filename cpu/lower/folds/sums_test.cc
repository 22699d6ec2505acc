#include <gtest/gtest.h>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

std::string sum_down(const std::string& kept, const std::string& from) {
  return base::cat(" x = f32", from, " parameter(0)\n z = f32[] constant(0)\n ROOT r = f32", kept,
                   " reduce(x, z), dimensions={0}, to_apply=sum");
}

TEST(Sums, OneVectorOfResultsIsFoldedInParts) {
  const Plan plan = plan_of(sum_down("[16]", "[1003,16]"));
  EXPECT_EQ(count(plan, Op::kFor), 1);
  EXPECT_EQ(count(plan, Op::kLoad), 7) << "four of a turn, three behind the last one";
}

TEST(Sums, AFewVectorsOfResultsAreFoldedByOneLoop) {
  const Plan plan = plan_of(sum_down("[5,16]", "[250,5,16]"));
  EXPECT_EQ(count(plan, Op::kFor), 1);
  EXPECT_EQ(count(plan, Op::kLoad), 5);
}

TEST(Sums, RowsOfAProductAreFoldedTogether) {
  const auto product = [](const std::string& rows) {
    return plan_of(" x = f32[" + rows +
                   ",32] parameter(0)\n y = f32[32] parameter(1)\n ROOT r = f32[" + rows +
                   "] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  };
  EXPECT_EQ(count(product("48"), Op::kReduceLanes), 0);
  EXPECT_EQ(count(product("48"), Op::kLoad), 17) << "sixteen rows by one vector";
  EXPECT_EQ(count(product("50"), Op::kReduceLanes), 1) << "of the rest";
}

// A product of so few results would be packed for longer than it takes.
TEST(Sums, ALongProductOfFewResultsStandsInRegisters) {
  const std::string operands =
      " x = f32[250,5] parameter(0)\n y = f32[250,4] parameter(1)\n e = f32[250,5] "
      "exponential(x)\n"
      " s = f32[250,5] add(e, e)\n";
  const LoweredProgram program = lowered(
      text_of(operands +
              " t = f32[5,250] transpose(s), dimensions={1,0}\n ROOT r = f32[5,4] dot(t, y), "
              "lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  EXPECT_EQ(program.kernels.size(), 0u);
  EXPECT_EQ(count(program.plan, Op::kGather), 0) << "the transpose is read by strides";
  EXPECT_EQ(count(program.plan, Op::kFor), 1);
}

TEST(Sums, AProductOfManyResultsIsAKernel) {
  EXPECT_EQ(plan_of(" x = f32[200,50] parameter(0)\n y = f32[200,40] parameter(1)\n ROOT r = "
                    "f32[50,40] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}")
                .kernels.size(),
            1u);
}

}  // namespace
}  // namespace heddle::cpu
