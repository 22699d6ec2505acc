#include "heddle/cpu/rewrites/shapes/early_reshapes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/op.h"
#include "heddle/hlo/text.h"

namespace heddle::cpu {
namespace {

constexpr const char* kHead =
    "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
    " ROOT c = f32[] add(a, b) }\nENTRY main {\n x = f32[4,6,5] parameter(0)\n"
    " y = f32[4,6,5] parameter(1)\n small = f32[4,3,5] parameter(2)\n"
    " zero = f32[] constant(0)\n wide = f32[4,3,2,5] broadcast(small), dimensions={0,1,3}\n"
    " twice = f32[4,6,5] reshape(wide)\n";

// The ops on arrays of this size after it; -1: the module stays.
int64_t ops_of(const hlo::Dims& sizes, const std::string& lines) {
  const hlo::Module module = hlo::parse_text(base::cat(kHead, lines, "}\n")).value();
  const auto early = reshape_early(module).value();
  if (!early) return -1;
  // What nothing reads any longer stays in the module, so that only what the root reads counts.
  const hlo::Computation& in = early->entry_computation();
  std::vector<hlo::InstructionId> queue = {in.root};
  std::set<hlo::InstructionId> seen = {in.root};
  int64_t ops = 0;
  while (!queue.empty()) {
    const hlo::Instruction& next = in.at(queue.back());
    queue.pop_back();
    ops += next.shape.is_array() && next.shape.dimensions() == sizes &&
           has_trait(next.opcode, hlo::kElementwise);
    for (const hlo::InstructionId operand : next.operands)
      if (seen.insert(operand).second) queue.push_back(operand);
  }
  return ops;
}

TEST(EarlyReshapes, ComeBeforeOpsOnArraysInMemory) {
  const std::string product = " m = f32[4,6,5] multiply(x, y)\n n = f32[4,6,5] add(m, m)\n";
  EXPECT_EQ(ops_of({120}, product + " r = f32[120] reshape(n)\n ROOT z = f32[120] negate(r)\n"), 3);
  EXPECT_EQ(ops_of({4, 3, 2, 5},
                   product + " r = f32[4,3,2,5] reshape(n)\n ROOT z = f32[4,3,5] reduce(r, zero), "
                             "dimensions={2}, to_apply=add\n"),
            2);
}

TEST(EarlyReshapes, UndoRepeatsAndJoinShortSums) {
  const std::string sums =
      " m = f32[4,6,5] multiply(twice, y)\n r = f32[4,3,2,5] reshape(m)\n"
      " s = f32[4,3,5] reduce(r, zero), dimensions={2}, to_apply=add\n";
  EXPECT_EQ(ops_of({4, 3, 2, 5}, sums + " ROOT z = f32[4,3,5] negate(s)\n"), 1);
  EXPECT_EQ(ops_of({2, 2, 3, 2, 5},
                   sums + " q = f32[2,2,3,5] reshape(s)\n ROOT z = f32[2,3,5] reduce(q, zero), "
                          "dimensions={1}, to_apply=add\n"),
            1);
}

// Of rows that a broadcast does not tell apart, and of a fold over all.
TEST(EarlyReshapes, ArraysOfFewColumnsHaveFewerDimensions) {
  const std::string rows =
      " q = f32[400,5,3] parameter(3)\n v = f32[3] parameter(4)\n"
      " w = f32[400,5,3] broadcast(v), dimensions={2}\n"
      " m = f32[400,5,3] multiply(q, w)\n";
  EXPECT_EQ(ops_of({2000, 3}, rows + " ROOT z = f32[400,5,3] negate(m)\n"), 2);
  EXPECT_EQ(ops_of({2000, 3}, rows + " ROOT z = f32[400,5] reduce(m, zero), dimensions={2}, "
                                     "to_apply=add\n"),
            1);
  EXPECT_EQ(ops_of({6000},
                   " q = f32[400,5,3] parameter(3)\n m = f32[400,5,3] negate(q)\n"
                   " ROOT z = f32[] reduce(m, zero), dimensions={0,1,2}, to_apply=add\n"),
            1);
  // A broadcast tells the first two apart.
  EXPECT_EQ(ops_of({2000, 3},
                   " q = f32[400,5,3] parameter(3)\n v = f32[400,3] parameter(4)\n"
                   " w = f32[400,5,3] broadcast(v), dimensions={0,2}\n"
                   " ROOT m = f32[400,5,3] multiply(q, w)\n"),
            -1);
}

// Dimensions of 1, of which a reshape before has one less.
TEST(EarlyReshapes, DimensionsOfOneStay) {
  EXPECT_EQ(ops_of({4, 3, 10, 1},
                   " m = f32[4,6,5] multiply(x, x)\n r = f32[4,6,5,1] reshape(m)\n"
                   " o = f32[4,6,5,1] parameter(3)\n s = f32[4,6,5,1] add(r, o)\n"
                   " t = f32[4,3,10,1] reshape(s)\n"
                   " ROOT z = f32[4,3,10,1] negate(t)\n"),
            3);
}

// What a broadcast repeats again, and ops that read what others read, 50 times.
TEST(EarlyReshapes, RepeatsUnderBroadcastsAndOpsThatAreReadTwice) {
  EXPECT_EQ(ops_of({24, 5, 3},
                   " w = f32[4,6,5,3] broadcast(twice), dimensions={0,1,2}\n"
                   " q = f32[4,6,5,3] parameter(3)\n"
                   " ROOT z = f32[4,6,5,3] multiply(q, w)\n"),
            -1);
  std::string lines =
      " q = f32[400,5,3] parameter(3)\n v = f32[3] parameter(4)\n"
      " w = f32[400,5,3] broadcast(v), dimensions={2}\n"
      " m0 = f32[400,5,3] multiply(q, w)\n";
  for (int i = 1; i < 50; ++i)
    lines += base::cat(" m", i, " = f32[400,5,3] add(m", i - 1, ", m", i - 1, ")\n");
  EXPECT_EQ(ops_of({2000, 3}, lines + " ROOT z = f32[400,5,3] negate(m49)\n"), 51);
}

TEST(EarlyReshapes, StayWhereSomethingElseReadsTheOpOrNothingIsFused) {
  const std::string product = " m = f32[4,6,5] multiply(x, y)\n r = f32[120] reshape(m)\n";
  EXPECT_EQ(ops_of({120}, product + " n = f32[120] negate(r)\n"
                                    " ROOT z = (f32[120], f32[4,6,5]) tuple(n, m)\n"),
            -1);
  EXPECT_EQ(ops_of({120}, product + " ROOT z = (f32[120]) tuple(r)\n"), -1);
  // Rows that a reshape joins do not come from repeated ones in order.
  EXPECT_EQ(ops_of({24, 5},
                   " m = f32[4,6,5] multiply(twice, y)\n r = f32[24,5] reshape(m)\n"
                   " ROOT z = f32[24,5] negate(r)\n"),
            -1);
}

}  // namespace
}  // namespace heddle::cpu
