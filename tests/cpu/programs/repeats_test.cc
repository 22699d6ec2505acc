// Long programs that do the same again and again, of which the code generator writes one turn.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

class CpuRepeats : public ::testing::Test {
 protected:
  void SetUp() override { HEDDLE_NEEDS_CODE_GENERATOR(); }
};

constexpr const char* kSum =
    "sum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b) }\n";

// Lines for the turns 1 to `turns`.
std::string repeated(int turns, const std::function<std::string(int)>& lines) {
  std::string out;
  for (int k = 1; k <= turns; ++k) out += lines(k);
  return out;
}

TEST_F(CpuRepeats, Updates) {
  expect_as_evaluated(
      cat("HloModule m\nENTRY main {\n  x0 = f32[64] parameter(0)\n  u = f32[4] parameter(1)\n",
          "  i0 = s32[] parameter(2)\n  one = s32[] constant(1)\n",
          repeated(1500,
                   [](int k) {
                     return cat("  i", k, " = s32[] add(i", k - 1, ", one)\n  x", k,
                                " = f32[64] dynamic-update-slice(x", k - 1, ", u, i", k, ")\n");
                   }),
          "  ROOT r = f32[64] copy(x1500) }\n"));
}

// All values are needed at the end, so that each turn hands one on.
TEST_F(CpuRepeats, ReductionsThatAreAllResults) {
  std::string names, types;
  for (int k = 1; k <= 300; ++k) {
    names += cat(k == 1 ? "" : ", ", "s", k);
    types += cat(k == 1 ? "" : ", ", "f32[]");
  }
  expect_as_evaluated(
      cat("HloModule m\n", kSum, "ENTRY main {\n  x = f32[64] parameter(0)\n",
          "  z = f32[] constant(0)\n  s0 = f32[] parameter(1)\n",
          repeated(300,
                   [](int k) {
                     return cat("  b", k, " = f32[64] broadcast(s", k - 1, "), dimensions={}\n  m",
                                k, " = f32[64] multiply(x, b", k, ")\n  t", k, " = f32[64] tanh(m",
                                k, ")\n  s", k, " = f32[] reduce(t", k,
                                ", z), dimensions={0}, to_apply=sum\n");
                   }),
          "  ROOT r = (", types, ") tuple(", names, ") }\n"));
}

// Constants that differ, so that some turns are the same code and others are not.
TEST_F(CpuRepeats, ConstantsThatDiffer) {
  expect_as_evaluated(
      cat("HloModule m\nENTRY main {\n  x0 = f32[] parameter(0)\n  y0 = f32[] parameter(1)\n",
          repeated(2000,
                   [](int k) {
                     return cat("  c", k, " = f32[] constant(", k % 37 == 0 ? 0.5 + k : 0.75,
                                ")\n  p", k, " = f32[] multiply(x", k - 1, ", c", k, ")\n  x", k,
                                " = f32[] add(p", k, ", y", k - 1, ")\n  y", k, " = f32[] ",
                                k % 5 == 0 ? "negate" : "abs", "(x", k - 1, ")\n");
                   }),
          "  ROOT r = (f32[], f32[]) tuple(x2000, y2000) }\n"));
}

TEST_F(CpuRepeats, LoopsAndBranches) {
  const std::string state = "(s32[], f32[8])";
  expect_as_evaluated(
      cat("HloModule m\n", "more { s = ", state,
          " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n",
          "  n = s32[] constant(3)\n  ROOT l = pred[] compare(i, n), direction=LT }\n",
          "step { s = ", state, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n",
          "  v = f32[8] get-tuple-element(s), index=1\n  one = s32[] constant(1)\n",
          "  j = s32[] add(i, one)\n  w = f32[8] cosine(v)\n  ROOT t = ", state, " tuple(j, w) }\n",
          "up { a = f32[8] parameter(0)\n  ROOT r = f32[8] exponential(a) }\n",
          "down { a = f32[8] parameter(0)\n  ROOT r = f32[8] sine(a) }\n",
          "ENTRY main {\n  v0 = f32[8] parameter(0)\n  q0 = s32[] parameter(1)\n",
          "  two = s32[] constant(2)\n  zero = s32[] constant(0)\n",
          repeated(150,
                   [&](int k) {
                     return cat("  q", k, " = s32[] xor(q", k - 1, ", two)\n  p", k,
                                " = pred[] compare(q", k, ", zero), direction=GT\n  b", k,
                                " = f32[8] conditional(p", k, ", v", k - 1, ", v", k - 1,
                                "), true_computation=up, false_computation=down\n  t", k, " = ",
                                state, " tuple(zero, b", k, ")\n  w", k, " = ", state, " while(t",
                                k, "), condition=more, body=step\n  v", k,
                                " = f32[8] get-tuple-element(w", k, "), index=1\n");
                   }),
          "  ROOT r = (f32[8], s32[]) tuple(v150, q150) }\n"));
}

// In a loop of the program's, whose values its turns use.
TEST_F(CpuRepeats, InTheBodyOfALoop) {
  const std::string state = "(s32[], f32[64], f32[])";
  expect_as_evaluated(cat(
      "HloModule m\n", kSum, "more { s = ", state,
      " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n",
      "  n = s32[] constant(5)\n  ROOT l = pred[] compare(i, n), direction=LT }\n",
      "step { s = ", state, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n",
      "  x = f32[64] get-tuple-element(s), index=1\n  s0 = f32[] get-tuple-element(s), index=2\n",
      "  z = f32[] constant(0)\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n",
      repeated(900,
               [](int k) {
                 return cat("  b", k, " = f32[64] broadcast(s", k - 1, "), dimensions={}\n  m", k,
                            " = f32[64] multiply(x, b", k, ")\n  c", k, " = f32[64] tanh(m", k,
                            ")\n  s", k, " = f32[] reduce(c", k,
                            ", z), dimensions={0}, to_apply=sum\n");
               }),
      "  ROOT t = ", state, " tuple(j, x, s900) }\n", "ENTRY main {\n  i = s32[] parameter(0)\n",
      "  x = f32[64] parameter(1)\n  y = f32[] parameter(2)\n  t = ", state,
      " tuple(i, x, y)\n  ROOT w = ", state, " while(t), condition=more, body=step }\n"));
}

// LLVM 19 joined their stores, and crashed.
TEST(CpuSixLanes, PartsAreStoredAgainAndAgain) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const char* type : {"s64", "f64"}) {
    for (const int n : {3, 4, 5, 6, 9}) {
      expect_as_evaluated(cat("HloModule m\nENTRY e { a = ", type, "[6] parameter(0)\n b = ", type,
                              "[6] parameter(1)\n v = ", type, "[6] add(b, a)\n x = ", type,
                              "[2] slice(v), slice={[0:2]}\n z = ", type, "[", n,
                              ",2] broadcast(x), dimensions={1}\n ROOT o = (", type, "[6], ", type,
                              "[", n, ",2]) tuple(v, z) }"));
    }
  }
}

// The moves before the repeat are of arrays of fewer dimensions.
TEST(CpuRepeatedParts, OfAVector) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_as_evaluated(
      "HloModule m\nENTRY e { x = f32[9] parameter(0)\n s = f32[3] slice(x), slice={[2:5]}\n"
      " r = f32[3] reverse(s), dimensions={0}\n"
      " ROOT b = f32[500,3,2] broadcast(r), dimensions={1} }");
}

}  // namespace
}  // namespace heddle::cpu
