// Branches in a loop that update its array in other branches and loops of theirs, in place.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// `i` and `x` become y where x[i] > 0, in a loop of 200 turns; `computations` are what y calls.
std::string loop_of(const std::string& y, const std::string& computations = "") {
  return cat(R"(HloModule m
set1 { p = (s32[], f32[300]) parameter(0)
 i = s32[] get-tuple-element(p), index=0
 x = f32[300] get-tuple-element(p), index=1
 u = f32[1] constant({1})
 ROOT y = f32[300] dynamic-update-slice(x, u, i) }
set2 { p = (s32[], f32[300]) parameter(0)
 i = s32[] get-tuple-element(p), index=0
 x = f32[300] get-tuple-element(p), index=1
 u = f32[1] constant({-2})
 ROOT y = f32[300] dynamic-update-slice(x, u, i) }
same { p = (s32[], f32[300]) parameter(0)
 ROOT x = f32[300] get-tuple-element(p), index=1 }
more { p = (s32[], f32[300]) parameter(0)
 i = s32[] get-tuple-element(p), index=0
 n = s32[] constant(297)
 ROOT c = pred[] compare(i, n), direction=LT }
fill { p = (s32[], f32[300]) parameter(0)
 i = s32[] get-tuple-element(p), index=0
 x = f32[300] get-tuple-element(p), index=1
 u = f32[1] constant({3})
 k = s32[] constant(41)
 j = s32[] add(i, k)
 y = f32[300] dynamic-update-slice(x, u, i)
 ROOT r = (s32[], f32[300]) tuple(j, y) }
)",
             computations, "branch { p = (s32[], f32[300]) parameter(0)\n",
             " i = s32[] get-tuple-element(p), index=0\n",
             " x = f32[300] get-tuple-element(p), index=1\n",
             " e1 = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}\n e = f32[] reshape(e1)\n",
             " half = f32[] constant(0.5)\n c = pred[] compare(e, half), direction=GT\n ", y,
             R"( }
body { p = (s32[], f32[300]) parameter(0)
 i = s32[] get-tuple-element(p), index=0
 x = f32[300] get-tuple-element(p), index=1
 e1 = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}
 e = f32[] reshape(e1)
 zero = f32[] constant(0)
 c = pred[] compare(e, zero), direction=GT
 y = f32[300] conditional(c, p, p), true_computation=branch, false_computation=same
 one = s32[] constant(1)
 j = s32[] add(i, one)
 ROOT r = (s32[], f32[300]) tuple(j, y) }
goes { p = (s32[], f32[300]) parameter(0)
 i = s32[] get-tuple-element(p), index=0
 n = s32[] constant(200)
 ROOT c = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[300] parameter(0)
 z = s32[] constant(0)
 t = (s32[], f32[300]) tuple(z, x)
 w = (s32[], f32[300]) while(t), condition=goes, body=body
 ROOT y = f32[300] get-tuple-element(w), index=1 })");
}

constexpr const char* kCond =
    "ROOT y = f32[300] conditional(c, p, p), true_computation=set1, false_computation=set2";
constexpr const char* kWhile =
    "w = (s32[], f32[300]) while(p), condition=more, body=fill\n"
    " ROOT y = f32[300] get-tuple-element(w), index=1";
// A branch of a branch that has a loop.
constexpr const char* kInner =
    "inner { p = (s32[], f32[300]) parameter(0)\n"
    " w = (s32[], f32[300]) while(p), condition=more, body=fill\n"
    " ROOT y = f32[300] get-tuple-element(w), index=1 }\n";
constexpr const char* kBoth =
    "ROOT y = f32[300] conditional(c, p, p), true_computation=inner, false_computation=set2";

int64_t copies_of(const std::string& text) {
  const std::string plan = stages_of(hlo::parse_text(text).value()).value().plan;
  const std::string_view nodes = std::string_view(plan).substr(plan.find("\nnodes"));
  int64_t copies = 0;
  for (size_t at = nodes.find("= copy "); at != nodes.npos; at = nodes.find("= copy ", at + 1))
    ++copies;
  return copies;
}

TEST(Branches, OfBranchesUpdateTheArrayInPlace) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  EXPECT_EQ(copies_of(loop_of(kCond)), 1);  // of the argument, before the loop
  EXPECT_EQ(copies_of(loop_of(kWhile)), 1);
  EXPECT_EQ(copies_of(loop_of(kBoth, kInner)), 1);
  EXPECT_EQ(copies_of(loop_of("ROOT y = f32[300] multiply(x, x)")), 1);
}

TEST(Branches, OfBranchesGiveTheEvaluatorsValues) {
  for (const std::string& text :
       {loop_of(kCond), loop_of(kWhile), loop_of(kBoth, kInner),
        // The array before, and another one, are read after the update.
        loop_of("w = (s32[], f32[300]) while(p), condition=more, body=fill\n"
                " v = f32[300] get-tuple-element(w), index=1\n"
                " ROOT y = f32[300] add(v, x)"),
        loop_of("v = f32[300] conditional(c, p, p), true_computation=set1, "
                "false_computation=set2\n n = f32[300] reverse(x), "
                "dimensions={0}\n a = s32[] constant(100)\n"
                " s = f32[7] slice(n), slice={[3:10]}\n"
                " ROOT y = f32[300] dynamic-update-slice(v, s, a)"),
        // Elementwise, also of what lies elsewhere in the array.
        loop_of("ROOT y = f32[300] multiply(x, x)"),
        loop_of("n = f32[300] reverse(x), dimensions={0}\n ROOT y = f32[300] subtract(n, x)"),
        // The inner branches update different arrays.
        loop_of("n = f32[300] negate(x)\n q = (s32[], f32[300]) tuple(i, n)\n"
                " ROOT y = f32[300] conditional(c, p, q), "
                "true_computation=set1, false_computation=set2"),
        loop_of("n = f32[300] negate(x)\n q = (s32[], f32[300]) tuple(i, n)\n"
                " ROOT y = f32[300] conditional(c, q, p), "
                "true_computation=same, false_computation=same")}) {
    SCOPED_TRACE(text);
    expect_as_evaluated(text);
  }
}

}  // namespace
}  // namespace heddle::cpu
