#include <gtest/gtest.h>

#include <string>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

// A loop that multiplies a vector f64[n] by a matrix f64[rows,n] that it does not change.
std::string loop_with_matrix(int rows, int columns) {
  const std::string matrix = base::cat("f64[", rows, ",", columns, "]"),
                    vector = base::cat("f64[", columns, "]"), sums = base::cat("f64[", rows, "]"),
                    state = base::cat("(s32[], ", matrix, ", ", vector, ")");
  return base::cat(
      "HloModule m\nturn { s = ", state,
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n a = ", matrix,
      " get-tuple-element(s), index=1\n v = ", vector,
      " get-tuple-element(s), index=2\n one = s32[] constant(1)\n j = s32[] add(i, one)\n y = ",
      sums,
      " dot(a, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n c = f64[1] slice(y), "
      "slice={[0:1]}\n d = f64[] reshape(c)\n w = ",
      vector, " broadcast(d), dimensions={}\n ROOT t = ", state,
      " tuple(j, a, w) }\nmore { s = ", state,
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(100)\n"
      " ROOT l = pred[] compare(i, n), direction=LT }\nENTRY main { a = ",
      matrix, " parameter(0)\n v = ", vector, " parameter(1)\n z = s32[] constant(0)\n s = ", state,
      " tuple(z, a, v)\n w = ", state, " while(s), condition=more, body=turn\n ROOT r = ", vector,
      " get-tuple-element(w), index=2 }\n");
}

// One row is read as it lies: there are no columns to put side by side.
TEST(TurnedMatrices, HaveSeveralRows) {
  EXPECT_EQ(count(lowered(loop_with_matrix(1, 70), 16).plan, Op::kGather), 0);
  EXPECT_GT(count(lowered(loop_with_matrix(8, 70), 16).plan, Op::kGather), 0);
}

}  // namespace
}  // namespace heddle::cpu
