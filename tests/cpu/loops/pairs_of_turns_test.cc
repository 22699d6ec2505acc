// Loops whose turns make their state in other memory, so that two turns are one.
#include <gtest/gtest.h>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// s: all pairs of shortest paths, one step a turn; `state` goes through as it is.
std::string shortest_paths(int turns, const char* step = "1") {
  return cat(R"(HloModule m
more { s = (s32[], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant()",
             turns, R"()
  ROOT c = pred[] compare(i, n), direction=LT }
turn { s = (s32[], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  d = f32[64,64] get-tuple-element(s), index=1
  size = s32[] constant(64)
  k = s32[] remainder(i, size)
  z = s32[] constant(0)
  row = f32[1,64] dynamic-slice(d, k, z), dynamic_slice_sizes={1,64}
  column = f32[64,1] dynamic-slice(d, z, k), dynamic_slice_sizes={64,1}
  r = f32[64] reshape(row)
  c = f32[64] reshape(column)
  rs = f32[64,64] broadcast(r), dimensions={1}
  cs = f32[64,64] broadcast(c), dimensions={0}
  over = f32[64,64] add(rs, cs)
  next = f32[64,64] minimum(d, over)
  one = s32[] constant()",
             step, R"()
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[64,64]) tuple(j, next) }
ENTRY e { d = f32[64,64] parameter(0)
  z = s32[] constant(0)
  s = (s32[], f32[64,64]) tuple(z, d)
  ROOT w = (s32[], f32[64,64]) while(s), condition=more, body=turn })");
}

// u and the u before it: the wave equation on a line, whose state changes places in each turn.
std::string wave(int turns) {
  return cat(R"(HloModule m
more { s = (f32[2048], s32[], f32[2048]) parameter(0)
  i = s32[] get-tuple-element(s), index=1
  n = s32[] constant()",
             turns, R"()
  ROOT c = pred[] compare(i, n), direction=LT }
turn { s = (f32[2048], s32[], f32[2048]) parameter(0)
  u = f32[2048] get-tuple-element(s), index=0
  i = s32[] get-tuple-element(s), index=1
  before = f32[2048] get-tuple-element(s), index=2
  a = f32[2047] slice(u), slice={[1:2048]}
  b = f32[1] slice(u), slice={[0:1]}
  right = f32[2048] concatenate(a, b), dimensions={0}
  quarter = f32[] constant(0.25)
  q = f32[2048] broadcast(quarter), dimensions={}
  d = f32[2048] subtract(right, u)
  f = f32[2048] multiply(d, q)
  uu = f32[2048] add(u, u)
  v = f32[2048] subtract(uu, before)
  next = f32[2048] add(v, f)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (f32[2048], s32[], f32[2048]) tuple(next, j, u) }
ENTRY e { u = f32[2048] parameter(0)
  z = s32[] constant(0)
  before = f32[2048] parameter(1)
  s = (f32[2048], s32[], f32[2048]) tuple(u, z, before)
  ROOT w = (f32[2048], s32[], f32[2048]) while(s), condition=more, body=turn })");
}

// The loop copies nothing in its turns.
void expect_no_copies(const std::string& text) {
  const std::string plan = stages_of(hlo::parse_text(text).value()).value().plan;
  const size_t loop = plan.find("while of "), end = plan.find("\nbuffers");
  ASSERT_NE(loop, std::string::npos);
  EXPECT_EQ(plan.substr(loop, end - loop).find(": copies "), std::string::npos) << plan;
}

TEST(CpuPairsOfTurns, CopyNothing) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int turns : {64, 65, 130, 131}) {
    expect_no_copies(shortest_paths(turns));
    expect_as_evaluated(shortest_paths(turns));
  }
  for (const int turns : {256, 257}) {
    expect_no_copies(wave(turns));
    expect_as_evaluated(wave(turns), {.share = 1e-4, .any_zero = true});
  }
}

// The condition is a compare behind a barrier.
TEST(CpuPairsOfTurns, OfAnOddNumberNeedAPlainCondition) {
  expect_as_evaluated(R"(HloModule m
more { s = (s32[], f32[65536]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  p = pred[] compare(i, n), direction=LT
  t = (pred[]) tuple(p)
  o = (pred[]) opt-barrier(t)
  ROOT g = pred[] get-tuple-element(o), index=0 }
turn { s = (s32[], f32[65536]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[65536] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  b = f32[65536] reverse(a), dimensions={0}
  d = f32[65536] subtract(a, b)
  ROOT r = (s32[], f32[65536]) tuple(j, d) }
ENTRY e { x = f32[65536] parameter(0)
  z = s32[] constant(0)
  t = (s32[], f32[65536]) tuple(z, x)
  ROOT w = (s32[], f32[65536]) while(t), condition=more, body=turn })");
}

// Counters of few bits go on below 0, or from 0 again.
TEST(CpuPairsOfTurns, CountersThatWrapAreNoCounters) {
  const auto program = [](const char* type, int limit, int step, int more) {
    return cat(
        "HloModule m\nbody { s = (", type, "[], s32[], s32[101]) parameter(0)\n i = ", type,
        "[] get-tuple-element(s), index=0\n a = s32[] get-tuple-element(s), index=1\n",
        " x = s32[101] get-tuple-element(s), index=2\n c = ", type, "[] constant(", step,
        ")\n k = ", type, "[] constant(", more, ")\n h = ", type, "[] add(i, c)\n j = ", type,
        "[] add(h, k)\n d = s32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}\n",
        " e = s32[] reshape(d)\n b = s32[] add(a, e)\n ROOT r = (", type,
        "[], s32[], s32[101]) tuple(j, b, x) }\ncond { s = (", type,
        "[], s32[], s32[101]) parameter(0)\n i = ", type,
        "[] get-tuple-element(s), index=0\n n = ", type, "[] constant(", limit,
        ")\n ROOT p = pred[] compare(i, n), direction=LT }\nENTRY main {\n",
        " x = s32[101] parameter(0)\n z = ", type, "[] constant(0)\n y = s32[] constant(0)\n",
        " t = (", type, "[], s32[], s32[101]) tuple(z, y, x)\n ROOT w = (", type,
        "[], s32[], s32[101]) while(t), condition=cond, body=body }");
  };
  expect_as_evaluated(program("s8", 120, 99, 1));
  expect_as_evaluated(program("u8", 10, 255, 2));
  expect_as_evaluated(program("u8", 250, 99, 1));
  expect_as_evaluated(program("s16", 32000, 29999, 1));
  expect_as_evaluated(program("s32", 100, 2, 1));
}

// An iota that waits for something else goes into the loop without it.
TEST(CpuPairsOfTurns, SunkIotasWaitForNothing) {
  expect_as_evaluated(R"(HloModule m
body { s = (s32[], s32[20], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  xs = s32[20] get-tuple-element(s), index=1
  a = s32[] get-tuple-element(s), index=2
  c = s32[] constant(1)
  j = s32[] add(i, c)
  d = s32[1] dynamic-slice(xs, i), dynamic_slice_sizes={1}
  e = s32[] reshape(d)
  b = s32[] add(a, e)
  ROOT r = (s32[], s32[20], s32[]) tuple(j, xs, b) }
cond { s = (s32[], s32[20], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(20)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY main { x = s32[] parameter(0)
  z = s32[] constant(0)
  y1 = s32[] add(x, x)
  y2 = s32[] multiply(y1, x)
  y3 = s32[] add(y2, y1)
  y4 = s32[] multiply(y3, x)
  y5 = s32[] subtract(y4, y1)
  y6 = s32[] multiply(y5, y2)
  y7 = s32[] subtract(y6, y3)
  q = s32[] multiply(y7, y4)
  xs = s32[20] iota(), iota_dimension=0, control-predecessors={q}
  t = (s32[], s32[20], s32[]) tuple(z, xs, q)
  ROOT w = (s32[], s32[20], s32[]) while(t), condition=cond, body=body })");
}

TEST(CpuPairsOfTurns, ShortAndOtherLoopsAreAsTheyWere) {
  for (const int turns : {1, 2, 3}) expect_as_evaluated(shortest_paths(turns));
  expect_as_evaluated(shortest_paths(130, "2"));
  expect_as_evaluated(shortest_paths(131, "3"));
}

}  // namespace
}  // namespace heddle::cpu
