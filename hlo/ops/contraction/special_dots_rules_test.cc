// Shape rules of ragged-dot and scaled-dot: the errors that users read.
#include <gtest/gtest.h>

#include "heddle/hlo/ops/infer_testing.h"

namespace heddle::hlo {
namespace {

using op_testing::infer;

TEST(RaggedDot, RefusesGroupsThatDoNotFit) {
  const RaggedDotAttrs attrs{.lhs_contracting_dims = {1},
                             .rhs_contracting_dims = {1},
                             .lhs_ragged_dims = {0},
                             .rhs_group_dims = {0}};
  const Shape x(f32, {9, 4}), y(f32, {3, 4, 5}), result(f32, {9, 5});
  EXPECT_EQ(infer(Opcode::kRaggedDot, {x, y, Shape(s32, {2})}, attrs, result),
            "ragged-dot: y is f32[3,4,5]; its group dimension 0 must be 2, the number of groups of "
            "group_sizes s32[2]");
  EXPECT_EQ(infer(Opcode::kRaggedDot, {x, y, Shape(s32, {7, 3})}, attrs, result),
            "ragged-dot: group_sizes is s32[7,3]; must be s32[3], or have one dimension");
  EXPECT_EQ(
      infer(Opcode::kRaggedDot, {x, Shape(f32, {4, 5}), Shape(s32, {3})},
            RaggedDotAttrs{
                .lhs_contracting_dims = {1}, .rhs_contracting_dims = {0}, .lhs_ragged_dims = {0}},
            result),
      "ragged-dot: rhs_group_dims is {}; must have 1 dimensions where the ragged dimension "
      "of x is free");
}

TEST(ScaledDot, RefusesAScaleWhoseDimensionsDoNotDivide) {
  const DotAttrs attrs{.lhs_contracting_dims = {0}, .rhs_contracting_dims = {0}};
  EXPECT_EQ(
      infer(Opcode::kScaledDot,
            {Shape(f8e4m3fn, {2}), Shape(f8e5m2, {2}), Shape(f8e8m0fnu, {3}), Shape(f8e8m0fnu, {})},
            attrs, Shape(f32, {})),
      "scaled-dot: x_scale is f8e8m0fnu[3]; must be real, and its dimensions divide those of "
      "x f8e4m3fn[2]");
}

}  // namespace
}  // namespace heddle::hlo
