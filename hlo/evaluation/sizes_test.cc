// Values of dynamic size: each op at the size that its operands have. Expected values are those of XLA's CPU where it has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heddle/hlo/evaluation/internal/testing.h"

namespace heddle::hlo {
namespace {

using run_testing::error_of;
using run_testing::floats;
using run_testing::ints;
using run_testing::numbers;
using run_testing::run;
using run_testing::s32_of;
using ::testing::ElementsAre;

// The value of `lines`, whose last one is the root, for d: the first n rows of x = f32[4,2] of 1 .. 8.
Literal value(std::string_view lines, int32_t n) {
  return run(cat(R"(HloModule m
    add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
    double { a = f32[<=4,2] parameter(0) ROOT b = f32[<=4,2] add(a, a) }
    twice { t = (s32[], f32[<=4,2]) parameter(0) i = s32[] get-tuple-element(t), index=0 n = s32[] constant(2) ROOT c = pred[] compare(i, n), direction=LT }
    step {
      t = (s32[], f32[<=4,2]) parameter(0)
      i = s32[] get-tuple-element(t), index=0
      one = s32[] constant(1)
      j = s32[] add(i, one)
      d = f32[<=4,2] get-tuple-element(t), index=1
      e = f32[<=4,2] call(d), to_apply=double
      ROOT r = (s32[], f32[<=4,2]) tuple(j, e)
    }
    ENTRY main {
      n = s32[] parameter(0)
      x = f32[4,2] constant({{1,2},{3,4},{5,6},{7,8}})
      zero = f32[] constant(0)
      none = s32[] constant(0)
      d = f32[<=4,2] set-dimension-size(x, n), dimensions={0}
      )",
                 lines, "\n}"),
             {s32_of(n)});
}

TEST(Sizes, ElementsBeyondTheSizeAreNotThere) {
  EXPECT_THAT(numbers(value("ROOT r = f32[2] reduce(d, zero), dimensions={0}, to_apply=add", 3)),
              ElementsAre(9, 12));
  EXPECT_THAT(numbers(value("ROOT r = f32[2] reduce(d, zero), dimensions={0}, to_apply=add", 0)),
              ElementsAre(0, 0));
  EXPECT_THAT(numbers(value("ROOT r = s32[] get-dimension-size(d), dimensions={0}", 3)),
              ElementsAre(3));
  EXPECT_THAT(numbers(value("ROOT r = f32[<=4,2] negate(d)", 1)), ElementsAre(-1, -2));
}

TEST(Sizes, AStaticOperandIsCutToTheOther) {
  EXPECT_THAT(numbers(value("ROOT r = f32[<=4,2] subtract(x, d)", 2)), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(
      numbers(value(
          "ROOT r = f32[2,2] dot(d, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}", 2)),
      ElementsAre(10, 14, 14, 20));
  EXPECT_THAT(
      numbers(value("b = f32[<=4,2] broadcast(zero), dimensions={}\n ROOT r = f32[<=4,2] add(b, d)",
                    1)),
      ElementsAre(1, 2));
}

TEST(Sizes, OpsThatMoveElementsFollow) {
  EXPECT_THAT(numbers(value("s = f32[2,2] slice(x), slice={[0:2], [0:2]}\n ROOT r = f32[<=6,2] "
                            "concatenate(d, s), dimensions={0}",
                            1)),
              ElementsAre(1, 2, 1, 2, 3, 4));
  EXPECT_THAT(numbers(value("ROOT r = f32[<=4,2] reverse(d), dimensions={0}", 2)),
              ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(
      numbers(value(
          "m = f32[<=4,2] negate(d)\n ROOT r = f32[<=4,2] sort(m), dimensions={0}, to_apply=less",
          2)),
      ElementsAre(-3, -4, -1, -2));
  EXPECT_THAT(numbers(value("ROOT r = f32[2,<=4] transpose(d), dimensions={1,0}", 2)),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(numbers(value("ROOT r = f32[<=5,2] pad(d, zero), padding=1_0x0_0", 1)),
              ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(numbers(value("ROOT r = f32[<=4,1] slice(d), slice={[0:4], [1:2]}", 2)),
              ElementsAre(2, 4));
  EXPECT_THAT(numbers(value("b = f32[<=4,1,2] reshape(d)\n ROOT r = f32[<=8] reshape(b)", 2)),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(
      numbers(value(
          "ROOT r = f32[<=2,2] reduce-window(d, zero), window={size=2x1 stride=2x1}, to_apply=add",
          3)),
      ElementsAre(4, 6));
  EXPECT_THAT(
      numbers(value(
          "i = s32[1] constant({0})\n ROOT r = f32[1,<=4] gather(d, i), offset_dims={1}, "
          "collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, slice_sizes={4,1}",
          3)),
      ElementsAre(1, 3, 5));
}

TEST(Sizes, UpdatesAreWrittenWithinTheBound) {
  constexpr std::string_view kUpdate =
      "u = f32[1,2] constant({{9,9}})\n i = s32[] constant(1)\n ROOT r = f32[<=4,2] "
      "dynamic-update-slice(d, u, i, none)";
  EXPECT_THAT(numbers(value(kUpdate, 2)), ElementsAre(1, 2, 9, 9));
  EXPECT_THAT(numbers(value(kUpdate, 1)), ElementsAre(1, 2));
}

TEST(Sizes, GoThroughLoopsBranchesAndTuples) {
  EXPECT_THAT(numbers(value(
                  "t = (s32[], f32[<=4,2]) tuple(none, d)\n w = (s32[], f32[<=4,2]) while(t), "
                  "condition=twice, body=step\n ROOT r = f32[<=4,2] get-tuple-element(w), index=1",
                  1)),
              ElementsAre(4, 8));
  EXPECT_THAT(
      numbers(value(
          "ROOT r = f32[<=4,2] conditional(none, d, d), branch_computations={double, double}", 1)),
      ElementsAre(2, 4));
}

TEST(Sizes, ConvolutionsOfADynamicBatch) {
  EXPECT_THAT(
      numbers(value("b = f32[<=4,1,2] reshape(d)\n k = f32[1,1,2] constant({{{1,10}}})\n ROOT r = "
                    "f32[<=4,1,1] convolution(b, k), window={size=2}, dim_labels=bf0_oi0->bf0",
                    2)),
      ElementsAre(21, 43));
}

TEST(Sizes, DynamicReshapeTakesItsSizesFromOperands) {
  EXPECT_THAT(numbers(value(
                  "two = s32[] constant(2)\n ROOT r = f32[<=4,<=2] dynamic-reshape(d, two, n)", 2)),
              ElementsAre(1, 2, 3, 4));
}

TEST(Sizes, AnArgumentMayBeSmallerThanItsBound) {
  constexpr std::string_view kText = R"(HloModule m
    ENTRY main { x = f32[<=4] parameter(0) ROOT s = s32[] get-dimension-size(x), dimensions={0} })";
  EXPECT_EQ(run(kText, {floats({1, 2})}).to_int64(0), 2);
  EXPECT_EQ(error_of(kText, {floats({1, 2, 3, 4, 5})}),
            "evaluate: parameter 0, x, of m is f32[<=4]; its argument is f32[5]");
}

TEST(Sizes, ThatDoNotFitAreErrors) {
  EXPECT_ANY_THROW(value("ROOT r = s32[] get-dimension-size(d), dimensions={0}", 5));
  EXPECT_EQ(error_of(R"(HloModule m
    ENTRY main { x = f32[4] parameter(0) n = s32[] constant(5) ROOT d = f32[<=4] set-dimension-size(x, n), dimensions={0} })",
                     {floats({1, 2, 3, 4})}),
            "set-dimension-size: dimension 0 of x, f32[4], is given the size 5; must be in [0, 4]");
  EXPECT_EQ(error_of(R"(HloModule m
    ENTRY main { x = f32[6] parameter(0) n = s32[] constant(5) d = f32[<=6] set-dimension-size(x, n), dimensions={0} ROOT r = f32[<=2,<=3] reshape(d) })",
                     {floats({1, 2, 3, 4, 5, 6})}),
            "reshape: x is f32[<=6] at the sizes {5}, the result f32[<=2,<=3]; its dynamic "
            "dimensions must each be had from dimensions of their own");
}

}  // namespace
}  // namespace heddle::hlo
