// Sums over a loop's turns of arrays that are zero but for a part, and steps that are made in the
// place of what they replace.
#include "heddle/cpu/rewrites/indexing/sparse_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/lower/lower.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// A loop of 40 turns whose state is (k, x): `lines` make y of the k-th row of u and of x, which
// begins as `initial`.
std::string sums(const std::string& lines, const std::string& initial,
                 const std::string& type = "f32") {
  const std::string array = cat(type, "[64,12]"),
                    state = cat("(s32[], ", array, ", ", type, "[40,12])");
  return cat(
      "HloModule m\nadds { a = ", type, "[] parameter(0)\n b = ", type,
      "[] parameter(1)\n ROOT c = ", type, "[] add(a, b) }\n", "cond { s = ", state,
      " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n",
      " n = s32[] constant(40)\n ROOT r = pred[] compare(k, n), direction=LT }\n",
      "body { s = ", state, " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n x = ", array,
      " get-tuple-element(s), index=1\n u = ", type,
      "[40,12] get-tuple-element(s), index=2\n one = s32[] constant(1)\n",
      " next = s32[] add(k, one)\n zero = ", type, "[] constant(0)\n none = s32[] constant(0)\n",
      " zeros = ", array, " broadcast(zero), dimensions={}\n row = ", type,
      "[1,12] dynamic-slice(u, k, none), dynamic_slice_sizes={1,12}\n",
      " seven = s32[] constant(7)\n at = s32[] remainder(k, seven)\n", lines, " ROOT r = ", state,
      " tuple(next, y, u) }\n", "ENTRY main { u = ", type, "[40,12] parameter(0)\n p = ", array,
      " parameter(1)\n k = s32[] constant(0)\n zero = ", type, "[] constant(0)\n minus = ", type,
      "[] constant(-0.0)\n zeros = ", array, " broadcast(zero), dimensions={}\n minuses = ", array,
      " broadcast(minus), dimensions={}\n init = ", state, " tuple(k, ", initial,
      ", u)\n w = ", state, " while(init), condition=cond, body=body\n ROOT r = ", array,
      " get-tuple-element(w), index=1 }\n");
}
const std::string kUpdate =
    " d = f32[64,12] dynamic-update-slice(zeros, row, at, none)\n y = f32[64,12] add(x, d)\n";
const std::string kScatter =
    " i = s32[1] reshape(at)\n v = f32[12] reshape(row)\n"
    " d = f32[64,12] scatter(zeros, i, v), update_window_dims={0}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=adds\n"
    " y = f32[64,12] add(d, x)\n";

// The sums of whole arrays that a turn computes.
int64_t whole_sums(const std::string& text) {
  const hlo::Module module = update_sparse_sums(hlo::parse_text(text).value()).value();
  int64_t count = 0;
  for (const auto& computation : module.computations) {
    for (const auto& each : computation.instructions)
      count += each.opcode == hlo::Opcode::kAdd && each.shape.element_count() == int64_t{64} * 12;
  }
  return count;
}

TEST(CpuSparseSums, AreUpdatesOfTheSum) {
  for (const std::string& lines : {kUpdate, kScatter}) {
    EXPECT_EQ(whole_sums(sums(lines, "zeros")), 0) << lines;
    expect_as_evaluated(sums(lines, "zeros"));
  }
  // Two rows of one place.
  const std::string repeated =
      " i = s32[2] broadcast(at), dimensions={}\n v = f32[2,12] dynamic-slice(u, k, none), "
      "dynamic_slice_sizes={2,12}\n d = f32[64,12] scatter(zeros, i, v), update_window_dims={1}, "
      "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
      "to_apply=adds\n y = f32[64,12] add(d, x)\n";
  EXPECT_EQ(whole_sums(sums(repeated, "zeros")), 0);
  expect_as_evaluated(sums(repeated, "zeros"));
  // Two parts a turn, and integers that begin as they are given.
  const std::string two =
      " d = f32[64,12] dynamic-update-slice(zeros, row, at, none)\n f = f32[64,12] add(d, x)\n"
      " e = f32[64,12] dynamic-update-slice(zeros, row, k, none)\n y = f32[64,12] add(f, e)\n";
  EXPECT_EQ(whole_sums(sums(two, "zeros")), 0);
  expect_as_evaluated(sums(two, "zeros"));
  const std::string integers =
      " d = s32[64,12] dynamic-update-slice(zeros, row, at, none)\n y = s32[64,12] add(x, d)\n";
  std::string text = sums(integers, "p", "s32");
  text.replace(text.find("constant(-0.0)"), 14, "constant(0)");
  EXPECT_EQ(whole_sums(text), 0);
  expect_as_evaluated(text);
}

// Rows of one place, of none and of several places in one scatter; the bits stay.
TEST(CpuSparseSums, RowsOfOnePlaceAreSummedFirst) {
  const std::string rows =
      " p = s32[5] constant({0, 3, 0, 70, -2})\n ks = s32[5] broadcast(at), dimensions={}\n"
      " q = s32[5] add(p, ks)\n i = s32[5,1] reshape(q)\n h = f32[5] constant({1, 0.3, -0.7, 2, "
      "5})\n hs = f32[5,12] broadcast(h), dimensions={0}\n one_row = f32[12] reshape(row)\n"
      " rows = f32[5,12] broadcast(one_row), dimensions={1}\n v = f32[5,12] add(rows, hs)\n"
      " d = f32[64,12] scatter(zeros, i, v), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=adds\n"
      " y = f32[64,12] add(d, x)\n";
  EXPECT_EQ(whole_sums(sums(rows, "zeros")), 0);
  expect_as_evaluated(sums(rows, "zeros"));
}

// x + 0.0 is 0.0 where x is -0.0.
TEST(CpuSparseSums, StayWhereTheSumMayHaveNegativeZeros) {
  for (const std::string initial : {"p", "minuses"}) {
    EXPECT_EQ(whole_sums(sums(kUpdate, initial)), 1) << initial;
    expect_as_evaluated(sums(kUpdate, initial));
  }
  const std::string negated =
      " d = f32[64,12] dynamic-update-slice(zeros, row, at, none)\n f = f32[64,12] add(x, d)\n"
      " y = f32[64,12] negate(f)\n";
  EXPECT_EQ(whole_sums(sums(negated, "zeros")), 1) << "the next turn's x";
  // x is asked for twice: that it fails once is not forgotten.
  const std::string twice =
      " d = f32[64,12] dynamic-update-slice(zeros, row, at, none)\n f = f32[64,12] add(x, x)\n"
      " g = f32[64,12] add(f, d)\n y = f32[64,12] negate(g)\n";
  EXPECT_EQ(whole_sums(sums(twice, "zeros")), 2);
}

TEST(CpuSparseSums, StayWhereTheZerosArePartOfSomethingElse) {
  const std::string read_twice =
      " d = f32[64,12] dynamic-update-slice(zeros, row, at, none)\n f = f32[64,12] add(x, d)\n"
      " y = f32[64,12] add(f, d)\n";
  EXPECT_EQ(whole_sums(sums(read_twice, "zeros")), 2);
  expect_as_evaluated(sums(read_twice, "zeros"));
  const std::string ones =
      " o = f32[] constant(1)\n os = f32[64,12] broadcast(o), dimensions={}\n"
      " d = f32[64,12] dynamic-update-slice(os, row, at, none)\n y = f32[64,12] add(x, d)\n";
  EXPECT_EQ(whole_sums(sums(ones, "zeros")), 1);
  expect_as_evaluated(sums(ones, "zeros"));
}

// ---- Boundary conditions.

int64_t copies(const std::string& text) {
  const Plan plan =
      lower(hlo::parse_text(text).value(), /*vector_bytes=*/32, /*as_lapack=*/false).value().plan;
  return std::ranges::count(plan.nodes, Op::kCopy, &Node::op);
}

TEST(CpuPlaces, AnElementwiseStepGoesWhereItsUpdateGoes) {
  const std::string scaled =
      " h = f32[] constant(0.5)\n hs = f32[64,12] broadcast(h), dimensions={}\n"
      " z = f32[64,12] multiply(x, hs)\n";
  const std::string set = " y = f32[64,12] dynamic-update-slice(z, row, none, none)\n";
  expect_as_evaluated(sums(scaled + set, "p"));
  EXPECT_EQ(copies(sums(scaled + set, "p")), 1) << "p, before the loop";
  const std::string edges =
      " e = f32[64,1] slice(zeros), slice={[0:64],[0:1]}\n eleven = s32[] constant(11)\n"
      " a = f32[64,12] dynamic-update-slice(z, row, none, none)\n"
      " b = f32[64,12] dynamic-update-slice(a, e, none, none)\n"
      " y = f32[64,12] dynamic-update-slice(b, e, none, eleven)\n";
  expect_as_evaluated(sums(scaled + edges, "p"));
  EXPECT_EQ(copies(sums(scaled + edges, "p")), 1);
  // What the update writes is read of the old array: that stays until then.
  const std::string old_row =
      " o = f32[1,12] dynamic-slice(x, seven, none), dynamic_slice_sizes={1,12}\n"
      " y = f32[64,12] dynamic-update-slice(z, o, none, none)\n";
  expect_as_evaluated(sums(scaled + old_row, "p"));
  const std::string both =
      " a = f32[64,12] dynamic-update-slice(z, row, none, none)\n y = f32[64,12] add(a, z)\n";
  expect_as_evaluated(sums(scaled + both, "p"));
}

// The lanes of the vectors that the program stores first.
int64_t stored_lanes(const std::string& text) {
  const Plan plan =
      lower(hlo::parse_text(text).value(), /*vector_bytes=*/32, /*as_lapack=*/false).value().plan;
  const auto stores = [](const Node& node) { return node.op == Op::kStore; };
  const auto store = std::ranges::find_if(plan.nodes, stores);
  return store == plan.nodes.end() ? 0 : plan.at(plan.args_of(*store)[1]).type.lanes;
}

TEST(CpuPlaces, RowsOfFewElementsAreOneRow) {
  for (const char* type : {"f32", "f64", "s8"}) {
    const auto array = [&](const char* sizes) { return cat(type, sizes); };
    for (const std::string& lines : {
             cat(" a = ", array("[40,3]"),
                 " slice(x), slice={[1:41],[0:3]}\n b = ", array("[40,3]"),
                 " add(a, a)\n one = s32[] constant(1)\n none = s32[] constant(0)\n",
                 " ROOT y = ", array("[41,3]"), " dynamic-update-slice(x, b, one, none)\n"),
             cat(" k = s32[] parameter(1)\n none = s32[] constant(0)\n a = ", array("[9,3]"),
                 " dynamic-slice(x, k, none), dynamic_slice_sizes={9,3}\n b = ", array("[9,3]"),
                 " multiply(a, a)\n ROOT y = ", array("[41,3]"),
                 " dynamic-update-slice(x, b, k, none)\n"),
             cat(" a = ", array("[1,3]"), " slice(x), slice={[40:41],[0:3]}\n b = ", array("[1,2]"),
                 " slice(a), slice={[0:1],[1:3]}\n ROOT y = ", array("[1,2]"), " negate(b)\n"),
             cat(" a = ", array("[20,3]"),
                 " slice(x), slice={[1:41:2],[0:3]}\n ROOT y = ", array("[20,3]"), " add(a, a)\n"),
         })
      expect_as_evaluated(
          cat("HloModule m\nENTRY main { x = ", array("[41,3]"), " parameter(0)\n", lines, " }\n"));
  }
}

// Grids of points of a few numbers: lines of them are rows.
TEST(CpuPlaces, LastDimensionsOfFewElementsAreJoined) {
  const std::string begin =
      "HloModule m\nENTRY main { x = f32[9,12,3] parameter(0)\n one = s32[] constant(1)\n"
      " none = s32[] constant(0)\n k = s32[] parameter(1)\n a = f32[9] parameter(2)\n"
      " p = f32[12,3] parameter(3)\n v = f32[3] parameter(4)\n";
  const std::string inside =
      " c = f32[7,10,3] slice(x), slice={[1:8],[1:11],[0:3]}\n"
      " u = f32[7,10,3] slice(x), slice={[0:7],[1:11],[0:3]}\n"
      " l = f32[7,10,3] slice(x), slice={[1:8],[0:10],[0:3]}\n"
      " s = f32[7,10,3] add(u, l)\n d = f32[7,10,3] subtract(s, c)\n";
  for (
      const char* lines : {
          // What is joined: runs of lines, a number a line, a line.
          " y = f32[7,10,3] negate(d)\n",
          " y = f32[9,12,3] dynamic-update-slice(x, d, one, one, none)\n",
          " y = f32[9,12,3] dynamic-update-slice(x, d, k, k, k)\n",
          " as = f32[9,12,3] broadcast(a), dimensions={0}\n y = f32[9,12,3] multiply(x, as)\n",
          " ps = f32[9,12,3] broadcast(p), dimensions={1,2}\n y = f32[9,12,3] add(x, ps)\n",
          " e = f32[4,12,3] dynamic-slice(x, k, none, none), dynamic_slice_sizes={4,12,3}\n"
          " f = f32[4,12,3] reverse(e), dimensions={0}\n y = f32[4,12,3] add(e, f)\n",
          " i = f32[9,12,3] iota(), iota_dimension=0\n y = f32[9,12,3] add(x, i)\n",
          // What is not: steps between lines, a part of each point, a number a point, other orders.
          " t = f32[3,12,3] slice(x), slice={[0:9:3],[0:12],[0:3]}\n"
          " w = f32[3,12,3] slice(x), slice={[3:6],[0:12],[0:3]}\n y = f32[3,12,3] add(t, w)\n",
          " vs = f32[9,12,3] broadcast(v), dimensions={2}\n y = f32[9,12,3] multiply(x, vs)\n",
          " h = f32[9,12,2] slice(x), slice={[0:9],[0:12],[1:3]}\n y = f32[9,12,2] sine(h)\n",
          " h = f32[9,12,2] slice(x), slice={[0:9],[0:12],[1:3]}\n g = f32[9,12,2] negate(h)\n"
          " y = f32[9,12,3] dynamic-update-slice(x, g, none, none, k)\n",
          " t = f32[9,6,3] slice(x), slice={[0:9],[0:12:2],[0:3]}\n y = f32[9,6,3] negate(t)\n",
          " r = f32[9,12,3] reverse(x), dimensions={1}\n y = f32[9,12,3] add(x, r)\n",
          " i = f32[9,12,3] iota(), iota_dimension=1\n y = f32[9,12,3] add(x, i)\n",
          " i = f32[9,12,3] iota(), iota_dimension=2\n y = f32[9,12,3] add(x, i)\n",
          " q = f32[12,9,3] transpose(x), dimensions={1,0,2}\n y = f32[12,9,3] negate(q)\n",
      }) {
    std::string text = begin + inside + lines;
    text.insert(text.rfind(" y = ") + 1, "ROOT ");
    expect_as_evaluated(text + " }\n");
  }
  const std::string joined =
      " as = f32[9,12,3] broadcast(a), dimensions={0}\n"
      " ROOT y = f32[9,12,3] multiply(x, as) }\n";
  EXPECT_EQ(stored_lanes(begin + joined), 8) << "of a row of three there are three";
}

TEST(CpuPlaces, RowsOfBytesAreWholeVectors) {
  const std::string text =
      "HloModule m\nENTRY main { a = pred[64,64] parameter(0)\n r = pred[64] parameter(1)\n"
      " c = pred[64] parameter(2)\n rs = pred[64,64] broadcast(r), dimensions={0}\n"
      " cs = pred[64,64] broadcast(c), dimensions={1}\n d = pred[64,64] and(rs, cs)\n"
      " ROOT y = pred[64,64] xor(a, d) }\n";
  EXPECT_EQ(stored_lanes(text), 32);
  expect_as_evaluated(text);
}

}  // namespace
}  // namespace heddle::cpu
