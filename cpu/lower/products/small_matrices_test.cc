#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

using base::cat;

// while (i < 100) x = f(x) for a matrix f32[n,n] and the lines that make f(x), named y, of x and a.
Plan loop_of(int n, const std::string& lines) {
  const std::string matrix = cat("f32[", n, ",", n, "]"), state = cat("(s32[], ", matrix, ")");
  const std::string text =
      cat("HloModule m\ncond { s = ", state,
          " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(100)\n"
          " ROOT r = pred[] compare(i, n), direction=LT }\nbody { s = ",
          state, " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = ", matrix,
          " get-tuple-element(s), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n",
          lines, " ROOT r = ", state, " tuple(j, y) }\nENTRY main { x = ", matrix,
          " parameter(0)\n i = s32[] constant(0)\n s = ", state, " tuple(i, x)\n ROOT w = ", state,
          " while(s), condition=cond, body=body }\n");
  return lowered(text).plan;
}

int64_t shuffles_of_several(const Plan& plan) {
  return std::ranges::count_if(
      plan.nodes, [](const Node& node) { return node.op == Op::kShuffle && node.arg_count > 1; });
}

int32_t most_lanes(const Plan& plan) {
  return std::ranges::max_element(plan.nodes, {}, [](const Node& node) { return node.type.lanes; })
      ->type.lanes;
}

std::string square(int n) {
  const std::string matrix = cat("f32[", n, ",", n, "]");
  return cat(" z = ", matrix, " dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ",
             "y = ", matrix, " subtract(z, x)\n");
}

TEST(SmallMatrices, ThatAreMultipliedStandRowByRow) {
  for (int n : {2, 4, 6, 8}) {
    const Plan plan = loop_of(n, square(n));
    EXPECT_EQ(most_lanes(plan), n);
    EXPECT_EQ(shuffles_of_several(plan), 0) << n;
  }
}

TEST(SmallMatrices, ThatAreNotMultipliedStandInWholeVectors) {
  EXPECT_EQ(most_lanes(loop_of(6, " y = f32[6,6] multiply(x, x)\n")), 16);
}

TEST(SmallMatrices, LargerOnesStandInWholeVectors) {
  EXPECT_EQ(most_lanes(loop_of(12, square(12))), 16);
}

// Sixty products without a loop would be 60 x 64 of them: what is beyond a budget has loops.
TEST(SmallMatrices, AreWrittenOutUpToABudget) {
  std::string lines = " y0 = f32[8,8] add(x, x)\n";
  for (int i = 0; i < 60; ++i)
    lines += cat(" y", i == 59 ? "" : cat(i + 1), " = f32[8,8] dot(y", i,
                 ", x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  const Plan plan = loop_of(8, lines);
  EXPECT_LT(count(plan, Op::kFma), 1100);
  EXPECT_EQ(count(plan, Op::kKernel), 0);
}

// Many of them, or one by a small matrix.
TEST(SmallMatrices, AreMultipliedByLoopsWhereThereAreMany) {
  const auto kernels = [](int64_t size, int64_t columns) {
    const std::string x = cat("f32[100,", size, ",", size, "]"),
                      y = cat("f32[100,", size, ",", columns, "]");
    const Plan plan =
        plan_of(cat(" x = ", x, " parameter(0)\n y = ", y, " parameter(1)\n ROOT r = ", y,
                    " dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0}, "
                    "lhs_contracting_dims={2}, rhs_contracting_dims={1}"));
    return count(plan, Op::kKernel);
  };
  EXPECT_EQ(kernels(8, 8), 0);
  EXPECT_EQ(kernels(15, 15), 0);
  EXPECT_EQ(kernels(24, 24), 1);
  EXPECT_EQ(kernels(64, 4), 1);  // of few lanes
}

// The product of a column and a row has nothing to sum.
TEST(SmallMatrices, OuterProductsAreWrittenOut) {
  const Plan plan = loop_of(
      2,
      " c = f32[2,1] slice(x), slice={[0:2],[0:1]}\n w = f32[1,2] slice(x), slice={[0:1],[0:2]}\n"
      " y = f32[2,2] dot(c, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  EXPECT_EQ(count(plan, Op::kForEach), 0);
}

}  // namespace
}  // namespace heddle::cpu
