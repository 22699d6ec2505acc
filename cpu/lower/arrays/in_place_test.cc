// Steps of loops that write where an array lies, and what they compute once for that.
#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

using base::cat;

// A loop of 40 turns over (k, x: f32[40,40]) whose lines make y of both.
Plan plan_of_turns(const std::string& lines, const std::string& called = "") {
  const std::string text =
      cat("HloModule m\n", called,
          "cond { s = (s32[], f32[40,40]) parameter(0)\n k = s32[] get-tuple-element(s), index=0\n"
          " n = s32[] constant(40)\n ROOT r = pred[] compare(k, n), direction=LT }\n"
          "body { s = (s32[], f32[40,40]) parameter(0)\n k = s32[] get-tuple-element(s), index=0\n"
          " x = f32[40,40] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
          " next = s32[] add(k, one)\n zero = s32[] constant(0)\n",
          lines,
          " ROOT r = (s32[], f32[40,40]) tuple(next, y) }\nENTRY main {\n"
          " x = f32[40,40] parameter(0)\n k = s32[] constant(0)\n"
          " init = (s32[], f32[40,40]) tuple(k, x)\n"
          " w = (s32[], f32[40,40]) while(init), condition=cond, body=body\n"
          " ROOT r = f32[40,40] get-tuple-element(w), index=1 }\n");
  return lowered(text).plan;
}

// Copies of the whole array: one brings the argument to the result.
int64_t copies(const Plan& plan) { return count(plan, Op::kCopy); }

const std::string kRow =
    " s1 = f32[1,40] dynamic-slice(x, k, zero), dynamic_slice_sizes={1,40}\n"
    " row = f32[40] reshape(s1)\n rows = f32[40,40] broadcast(row), dimensions={1}\n";
const std::string kColumn =
    " s2 = f32[40,1] dynamic-slice(x, zero, k), dynamic_slice_sizes={40,1}\n"
    " column = f32[40] reshape(s2)\n columns = f32[40,40] broadcast(column), dimensions={0}\n";

// As in the shortest paths of all pairs.
TEST(InPlace, AnArrayIsReplacedByWhatItsRowAndColumnGive) {
  EXPECT_EQ(copies(plan_of_turns(cat(kRow, kColumn, " t = f32[40,40] add(rows, columns)\n",
                                     " y = f32[40,40] minimum(x, t)\n"))),
            1);
}

// As pivots do, and a shuffle. A row that a later update needs is taken before the first one.
TEST(InPlace, RowsOfAnArrayChangePlaces) {
  EXPECT_EQ(
      copies(plan_of_turns(" last = s32[] constant(39)\n other = s32[] subtract(last, k)\n"
                           " a = f32[1,40] dynamic-slice(x, k, zero), dynamic_slice_sizes={1,40}\n"
                           " b = f32[1,40] dynamic-slice(x, other, zero), "
                           "dynamic_slice_sizes={1,40}\n"
                           " u = f32[40,40] dynamic-update-slice(x, b, k, zero)\n"
                           " y = f32[40,40] dynamic-update-slice(u, a, other, zero)\n")),
      1);
}

// Copies in a loop over two arrays, x and y, whose lines make u and v of their rows k, a and b.
int64_t copies_of_two(const std::string& lines) {
  const std::string text = cat(
      "HloModule m\ncond { s = (s32[], f32[40,40], f32[40,40]) parameter(0)\n"
      " k = s32[] get-tuple-element(s), index=0\n n = s32[] constant(40)\n"
      " ROOT r = pred[] compare(k, n), direction=LT }\n"
      "body { s = (s32[], f32[40,40], f32[40,40]) parameter(0)\n"
      " k = s32[] get-tuple-element(s), index=0\n x = f32[40,40] get-tuple-element(s), index=1\n"
      " y = f32[40,40] get-tuple-element(s), index=2\n one = s32[] constant(1)\n"
      " next = s32[] add(k, one)\n zero = s32[] constant(0)\n"
      " a = f32[1,40] dynamic-slice(x, k, zero), dynamic_slice_sizes={1,40}\n"
      " b = f32[1,40] dynamic-slice(y, k, zero), dynamic_slice_sizes={1,40}\n",
      lines,
      " ROOT r = (s32[], f32[40,40], f32[40,40]) tuple(next, u, v) }\n"
      "ENTRY main { x = f32[40,40] parameter(0)\n y = f32[40,40] parameter(1)\n"
      " k = s32[] constant(0)\n init = (s32[], f32[40,40], f32[40,40]) tuple(k, x, y)\n"
      " w = (s32[], f32[40,40], f32[40,40]) while(init), condition=cond, body=body\n"
      " p = f32[40,40] get-tuple-element(w), index=1\n"
      " q = f32[40,40] get-tuple-element(w), index=2\n"
      " ROOT r = (f32[40,40], f32[40,40]) tuple(p, q) }\n");
  return copies(lowered(text).plan);
}

TEST(InPlace, RowsOfTwoArraysChangePlaces) {
  EXPECT_EQ(copies_of_two(" u = f32[40,40] dynamic-update-slice(x, b, k, zero)\n"
                          " v = f32[40,40] dynamic-update-slice(y, a, k, zero)\n"),
            2)
      << "of the arguments";
}

// As complex numbers do in a loop, and pairs of tables that learn from each other.
TEST(InPlace, RowsOfTwoArraysAreComputedOfBoth) {
  EXPECT_EQ(copies_of_two(" ra = f32[40] reshape(a)\n rb = f32[40] reshape(b)\n"
                          " s2 = f32[40] add(ra, rb)\n d = f32[40] subtract(ra, rb)\n"
                          " s3 = f32[1,40] reshape(s2)\n d3 = f32[1,40] reshape(d)\n"
                          " u = f32[40,40] dynamic-update-slice(x, s3, k, zero)\n"
                          " v = f32[40,40] dynamic-update-slice(y, d3, k, zero)\n"),
            2)
      << "of the arguments";
}

// The buffers of the program's own memory.
int64_t arrays_in_arena(const std::string& entry) {
  const Plan plan = plan_of(
      " x = f32[64,64] parameter(0)\n w = f32[64,64] parameter(1)\n"
      " p = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n" +
      entry);
  return std::ranges::count_if(plan.buffers, [](const BufferInfo& buffer) {
    return buffer.kind == BufferInfo::Kind::kArena && buffer.bytes >= 64 * 64 * 4;
  });
}

TEST(InPlace, WhatIsAddedToAProductLiesWhereTheProductLay) {
  EXPECT_EQ(arrays_in_arena(" ROOT y = f32[64,64] add(p, w)\n"), 0);
  // Also where neither is a result.
  EXPECT_EQ(arrays_in_arena(" a = f32[64,64] tanh(p)\n ROOT y = f32[64,64] dot(a, w), "
                            "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"),
            1);
}

TEST(InPlace, AProductThatIsReadLaterOrElsewhereStays) {
  const std::string later =
      " a = f32[64,64] tanh(p)\n q = f32[64,64] dot(a, p), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  EXPECT_EQ(arrays_in_arena(cat(later, " ROOT y = f32[64,64] negate(q)\n")), 2);
  EXPECT_EQ(arrays_in_arena(" t = f32[64,64] transpose(p), dimensions={1,0}\n"
                            " ROOT y = f32[64,64] add(p, t)\n"),
            1);
}

}  // namespace
}  // namespace heddle::cpu
