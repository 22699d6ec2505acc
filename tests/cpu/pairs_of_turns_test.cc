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

TEST(CpuPairsOfTurns, ShortAndOtherLoopsAreAsTheyWere) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const int turns : {1, 2, 3}) expect_as_evaluated(shortest_paths(turns));
  expect_as_evaluated(shortest_paths(130, "2"));
  expect_as_evaluated(shortest_paths(131, "3"));
}

}  // namespace
}  // namespace heddle::cpu
