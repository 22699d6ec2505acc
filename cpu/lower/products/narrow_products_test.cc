#include <gtest/gtest.h>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

using base::cat;

Plan points_by_matrix(int64_t rows, int64_t depth, int64_t columns) {
  return plan_of(cat(" x = f32[", rows, ",", depth, "] parameter(0)\n w = f32[", depth, ",",
                     columns, "] parameter(1)\n ROOT y = f32[", rows, ",", columns,
                     "] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"));
}

// 9 products of vectors for 16 rows at a time.
TEST(NarrowProducts, HaveLanesAlongTheRows) {
  const Plan plan = points_by_matrix(4096, 3, 3);
  EXPECT_EQ(count(plan, Op::kKernel), 0);
  EXPECT_EQ(count(plan, Op::kForEach), 1);
  EXPECT_EQ(count(plan, Op::kFma), 9);
}

TEST(NarrowProducts, OfSmallMatricesOneForEachPlace) {
  const Plan plan = plan_of(
      " x = f32[512,3,3] parameter(0)\n y = f32[512,3,3] parameter(1)\n"
      " ROOT z = f32[512,3,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0},"
      " lhs_contracting_dims={2}, rhs_contracting_dims={1}\n");
  EXPECT_EQ(count(plan, Op::kKernel), 0);
  EXPECT_EQ(count(plan, Op::kFma), 27);
}

Plan points_of_slice(int64_t from) {
  return plan_of(cat(" x = f32[4096,4] parameter(0)\n s = f32[4096,3] slice(x), slice={[0:4096],[",
                     from, ":", from + 3,
                     "]}\n w = f32[3,3] parameter(1)\n ROOT y = f32[4096,3] dot(s, w),"
                     " lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"));
}

TEST(NarrowProducts, OfColumnsOfRows) { EXPECT_EQ(count(points_of_slice(0), Op::kFma), 9); }

// Every other row of `from`.
Plan points_of_rows(int64_t from) {
  return plan_of(cat(" x = f32[", from,
                     ",3] parameter(0)\n s = f32[50,3] slice(x), slice={[0:", from,
                     ":2],[0:3]}\n w = f32[3,3] parameter(1)\n ROOT y = f32[50,3] dot(s, w),"
                     " lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"));
}

TEST(NarrowProducts, LoadWhatLiesBetweenRowsInsideOfTheArray) {
  EXPECT_EQ(count(points_of_rows(100), Op::kForEach), 1);
  EXPECT_EQ(count(points_of_rows(100), Op::kFma), 18);  // 48 rows, and 2
  EXPECT_NE(count(points_of_rows(99), Op::kFma), 18);
}

// What is converted where it is read, and sums of wider numbers.
TEST(NarrowProducts, OfOtherNumbers) {
  for (const char* type : {"s8", "u8", "s16", "s32", "f16", "bf16"}) {
    const Plan plan = plan_of(cat(" x = ", type,
                                  "[4096,3] parameter(0)\n w = f32[3] parameter(1)\n"
                                  " c = f32[4096,3] convert(x)\n ROOT y = f32[4096] dot(c, w),"
                                  " lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"));
    EXPECT_EQ(count(plan, Op::kForEach), 1) << type;
    EXPECT_EQ(count(plan, Op::kFma), 3) << type;
    EXPECT_EQ(count(plan, Op::kReduceLanes), 0) << type;
  }
  const Plan sums = plan_of(
      " x = bf16[4096,3] parameter(0)\n w = bf16[3,2] parameter(1)\n ROOT y = f32[4096,2] "
      "dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  EXPECT_EQ(count(sums, Op::kFma), 6);
  EXPECT_EQ(count(sums, Op::kForEach), 1);
}

// Lanes lie along the rows of each product, where it has some; else along the batch.
TEST(NarrowProducts, OfEachOfABatch) {
  const Plan points = plan_of(
      " x = f32[500,8,3] parameter(0)\n y = f32[500,3,3] parameter(1)\n"
      " ROOT z = f32[500,8,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0},"
      " lhs_contracting_dims={2}, rhs_contracting_dims={2}\n");
  EXPECT_EQ(count(points, Op::kKernel), 0);
  EXPECT_EQ(count(points, Op::kFma), 9);
  const Plan wide = plan_of(
      " x = f32[500,3,8] parameter(0)\n y = f32[500,8,3] parameter(1)\n"
      " ROOT z = f32[500,3,3] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0},"
      " lhs_contracting_dims={2}, rhs_contracting_dims={1}\n");
  EXPECT_EQ(count(wide, Op::kKernel), 0);
  EXPECT_GE(count(wide, Op::kFma), 72);
}

// The last row of the last product would read beyond the array.
TEST(NarrowProducts, OfEachOfABatchStayInsideOfTheArray) {
  const auto products = [](const char* slice) {
    return plan_of(
        cat(" x = f32[64,8,4] parameter(0)\n y = f32[64,3,3] parameter(1)\n"
            " s = f32[64,8,3] slice(x), slice={[0:64], [0:8], ",
            slice,
            "}\n ROOT z = f32[64,8,3] dot(s, y), lhs_batch_dims={0}, "
            "rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}\n"));
  };
  EXPECT_EQ(count(products("[0:3]"), Op::kFma), 9);
  EXPECT_NE(count(products("[1:4]"), Op::kFma), 9);
}

// Rows lie in several blocks, as those of the products of one matrix by many.
TEST(NarrowProducts, OfRowsInBlocks) {
  const Plan plan = plan_of(
      " f = f32[3,3] parameter(0)\n p = f32[1024,3,3] parameter(1)\n t = f32[3,1024,3] dot(f, p),"
      " lhs_contracting_dims={1}, rhs_contracting_dims={1}\n u = f32[3,1024,3] dot(t, f),"
      " lhs_contracting_dims={2}, rhs_contracting_dims={1}\n"
      " ROOT r = f32[1024,3,3] transpose(u), dimensions={1,0,2}\n");
  EXPECT_EQ(count(plan, Op::kKernel), 0);
  EXPECT_EQ(count(plan, Op::kFma), 54);
}

// A transposed result has no lanes side by side: a kernel writes it, as the gradient of the weights
// of a layer by a batch of two.
TEST(NarrowProducts, OfATransposedResultAreAKernels) {
  const Plan plan = plan_of(
      " d = f32[2,512] parameter(0)\n x = f32[2,128] parameter(1)\n p = f32[512,128] dot(d, x),"
      " lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
      " ROOT w = f32[128,512] transpose(p), dimensions={1,0}\n");
  EXPECT_EQ(count(plan, Op::kKernel), 1);
  EXPECT_EQ(count(plan, Op::kScatter), 0);
}

// Rows that are long, that are few, and those whose last load would go beyond the array.
TEST(NarrowProducts, AreNoOthers) {
  EXPECT_EQ(count(points_by_matrix(4096, 32, 3), Op::kKernel), 1);
  EXPECT_EQ(count(points_by_matrix(4096, 64, 8), Op::kKernel), 1);
  EXPECT_NE(count(points_by_matrix(20, 3, 3), Op::kForEach), 1);
  EXPECT_EQ(count(points_of_slice(1), Op::kKernel), 1);
}

}  // namespace
}  // namespace heddle::cpu
