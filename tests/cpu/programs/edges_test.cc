// Shapes and hand-overs at the edge: where values have no elements, change places, are the same
// twice, or are overwritten while others still read them.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

class CpuEdges : public ::testing::Test {
 protected:
  void SetUp() override { HEDDLE_NEEDS_CODE_GENERATOR(); }
};

// A condition i < turns of a state whose element 0 is i: s32.
std::string counting(const std::string& state, int turns) {
  return cat("cond { s = ", state, " parameter(0)\n",
             "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(", turns,
             ")\n  ROOT less = pred[] compare(i, n), direction=LT }\n");
}

// Lines that name the elements of a state: i, and a, b, ..
std::string elements(const std::string& state, const std::vector<std::string>& types) {
  std::string out = cat("  s = ", state, " parameter(0)\n",
                        "  i = s32[] get-tuple-element(s), index=0\n  one = s32[] constant(1)\n",
                        "  next = s32[] add(i, one)\n");
  for (size_t k = 0; k < types.size(); ++k)
    out += cat("  ", std::string(1, static_cast<char>('a' + k)), " = ", types[k],
               " get-tuple-element(s), index=", k + 1, "\n");
  return out;
}

// while (i < turns) of a state (s32[], types..): body lines from i, next, a, b, .. to `results`.
// Initial values are x0, x1, .. as `initial` writes them from parameters p0, p1, .. .
struct Loop {
  std::vector<std::string> types;
  std::string body;
  std::string results;  // "b, a"
  std::string initial;  // lines
  std::string starts;   // "p0, p1"
  int turns = 3;
};

std::string text_of(const Loop& loop) {
  std::string state = "(s32[]";
  for (const std::string& type : loop.types) state += cat(", ", type);
  state += ")";
  return cat("HloModule m\n", counting(state, loop.turns), "body {\n", elements(state, loop.types),
             loop.body, "  ROOT r = ", state, " tuple(next, ", loop.results, ") }\n",
             "ENTRY main {\n", loop.initial, "  zero = s32[] constant(0)\n  init = ", state,
             " tuple(zero, ", loop.starts, ")\n  ROOT w = ", state,
             " while(init), condition=cond, body=body }\n");
}

constexpr char kTwo[] = "  p0 = f32[70] parameter(0)\n  p1 = f32[70] parameter(1)\n";
// Arrays of the program's own, which it may write.
constexpr char kTwoOwn[] =
    "  q0 = f32[70] parameter(0)\n  q1 = f32[70] parameter(1)\n"
    "  p0 = f32[70] sort(q0), dimensions={0}, to_apply=less\n"
    "  p1 = f32[70] sort(q1), dimensions={0}, to_apply=less\n";
constexpr char kLess[] =
    "less { u = f32[] parameter(0)\n v = f32[] parameter(1)\n"
    "  ROOT l = pred[] compare(u, v), direction=LT }\n";

TEST_F(CpuEdges, CarriesSwap) {
  for (int turns : {0, 1, 2, 3}) {
    expect_as_evaluated(text_of({.types = {"f32[70]", "f32[70]"},
                                 .body = "",
                                 .results = "b, a",
                                 .initial = kTwo,
                                 .starts = "p0, p1",
                                 .turns = turns}));
    expect_as_evaluated(
        text_of({.types = {"s32[]", "s32[]"},
                 .body = "",
                 .results = "b, a",
                 .initial = "  p0 = s32[] parameter(0)\n  p1 = s32[] parameter(1)\n",
                 .starts = "p0, p1",
                 .turns = turns}));
  }
}

TEST_F(CpuEdges, CarriesGoRoundWithSums) {
  expect_as_evaluated(text_of({.types = {"f32[70]", "f32[70]", "f32[70]"},
                               .body = "  sum = f32[70] add(a, b)\n",
                               .results = "c, sum, a",
                               .initial = kTwo,
                               .starts = "p0, p1, p0"}));
}

TEST_F(CpuEdges, CarriesOfOneValue) {
  expect_as_evaluated(
      text_of({.types = {"f32[70]", "f32[70]"},
               .body = "  sum = f32[70] add(a, b)\n  m = f32[70] reverse(b), dimensions={0}\n",
               .results = "sum, m",
               .initial = kTwo,
               .starts = "p0, p0"}));
  expect_as_evaluated(text_of({.types = {"f32[70]", "f32[70]"},
                               .body = "  sum = f32[70] add(a, b)\n",
                               .results = "sum, sum",
                               .initial = kTwo,
                               .starts = "p0, p1"}));
  expect_as_evaluated(text_of({.types = {"f32[70]", "f32[70]"},
                               .body = "  sum = f32[70] add(a, b)\n",
                               .results = "sum, b",
                               .initial = kTwo,
                               .starts = "p0, p0"}));
}

// One carry's step is computed from what the other one's step overwrites.
TEST_F(CpuEdges, UpdatesReadEachOthersArrays) {
  expect_as_evaluated(
      text_of({.types = {"f32[70]", "f32[70]"},
               .body = "  ax = f32[1] dynamic-slice(a, i), dynamic_slice_sizes={1}\n"
                       "  bx = f32[1] dynamic-slice(b, next), dynamic_slice_sizes={1}\n"
                       "  na = f32[70] dynamic-update-slice(a, bx, next)\n"
                       "  nb = f32[70] dynamic-update-slice(b, ax, i)\n",
               .results = "na, nb",
               .initial = kTwo,
               .starts = "p0, p1"}));
}

TEST_F(CpuEdges, AnUpdateIsComputedFromItsOwnArray) {
  for (const char* part : {"  part = f32[60] slice(a), slice={[0:60]}\n",
                           "  w = f32[60] slice(a), slice={[1:61]}\n"
                           "  part = f32[60] reverse(w), dimensions={0}\n",
                           "  v = f32[70] reverse(a), dimensions={0}\n  t = f32[70] add(v, a)\n"
                           "  part = f32[60] slice(t), slice={[2:62]}\n"}) {
    expect_as_evaluated(
        text_of({.types = {"f32[70]"},
                 .body = cat(part, "  na = f32[70] dynamic-update-slice(a, part, next)\n"),
                 .results = "na",
                 .initial = kTwo,
                 .starts = "p0"}));
    std::string entry =
        cat("HloModule m\nENTRY main {\n  a = f32[70] parameter(0)\n", "  i = s32[] parameter(1)\n",
            part, "  ROOT na = f32[70] dynamic-update-slice(a, part, i) }\n");
    expect_as_evaluated(entry);
  }
}

TEST_F(CpuEdges, AScatterReadsItsOwnArray) {
  const std::string head =
      "HloModule m\nadd { u = s32[] parameter(0)\n v = s32[] parameter(1)\n"
      "  ROOT r = s32[] subtract(u, v) }\n";
  const std::string attributes =
      "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, to_apply=add";
  for (const char* operands : {"x, i, x", "x, x, i", "x, x, x", "x, i, v", "x, v, i", "x, v, v"}) {
    for (const char* array : {"  x = s32[70] parameter(0)\n",
                              "  p = s32[70] parameter(0)\n"
                              "  x = s32[70] reduce-window(p, z), window={size=70 pad=69_0}, "
                              "to_apply=sum\n"}) {
      expect_as_evaluated(
          cat(head, "sum { u = s32[] parameter(0)\n v = s32[] parameter(1)\n",
              "  ROOT r = s32[] maximum(u, v) }\nENTRY main {\n  z = s32[] constant(0)\n", array,
              "  i = s32[70] parameter(1)\n  v = s32[70] reverse(x), dimensions={0}\n",
              "  y = s32[70] scatter(", operands, "), ", attributes,
              "\n  w = s32[70] add(i, i)\n  ROOT r = (s32[70], s32[70]) tuple(y, w) }\n"));
    }
  }
}

TEST_F(CpuEdges, AnUpdateBesideItsOldValue) {
  expect_as_evaluated(text_of({.types = {"f32[70]", "f32[70]"},
                               .body = "  u = f32[1] constant({7})\n"
                                       "  na = f32[70] dynamic-update-slice(a, u, i)\n",
                               .results = "na, a",
                               .initial = kTwo,
                               .starts = "p0, p1"}));
  expect_as_evaluated(
      "HloModule m\nENTRY main {\n  x = f32[70] parameter(0)\n  i = s32[] parameter(1)\n"
      "  u = f32[2] constant({7, 8})\n  y = f32[70] dynamic-update-slice(x, u, i)\n"
      "  z = f32[70] dynamic-update-slice(y, u, i)\n"
      "  ROOT r = (f32[70], f32[70], f32[70]) tuple(x, z, y) }\n");
}

// The second result is made in the first one's place, which its reader wants.
TEST_F(CpuEdges, ResultsChangePlaces) {
  expect_as_evaluated(
      "HloModule m\nf { a = f32[] parameter(0)\n ROOT b = f32[] parameter(1) }\n"
      "ENTRY main { x = f32[2] parameter(0)\n i = s64[1] parameter(1)\n j = s32[1] parameter(2)\n"
      " v = f32[1] parameter(3)\n g = f32[1,1] gather(x, i), offset_dims={1}, "
      "collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}\n"
      " c = f32[1,1] scatter(g, j, v), update_window_dims={0}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=f\n"
      " r = f32[1] reshape(g)\n ROOT t = (f32[1], f32[1,1]) tuple(r, c) }\n");
  expect_as_evaluated(
      "HloModule m\nENTRY main { x = f32[70] parameter(0)\n i = s32[] parameter(1)\n"
      " u = f32[1] constant({7})\n d = f32[70] add(x, x)\n r = f32[7,10] reshape(d)\n"
      " y = f32[70] dynamic-update-slice(d, u, i)\n"
      " ROOT t = (f32[7,10], f32[70], f32[7,10], f32[70]) tuple(r, y, r, y) }\n");
}

// What an update overwrites is read first by others, which update what is read by who reads the
// update.
TEST_F(CpuEdges, UpdatesWaitForReadersThatWaitForThem) {
  expect_as_evaluated(
      cat("HloModule m\n", kLess, "ENTRY main {\n", kTwoOwn,
          "  i = s32[] parameter(2)\n  u = f32[1] constant({70})\n"
          "  s = f32[70] dynamic-update-slice(p0, u, i)\n"
          "  part = f32[50] slice(p0), slice={[1:51]}\n"
          "  o = f32[70] dynamic-update-slice(p1, part, i)\n"
          "  t = f32[70] add(s, p1)\n  ROOT r = (f32[70], f32[70], f32[70]) tuple(o, t, s) }\n"));
}

TEST_F(CpuEdges, BranchesUpdateOrPassAnArray) {
  const char* const branches[][2] = {
      {"  ROOT r = (f32[70], f32[70]) tuple(na, b)", "  ROOT r = (f32[70], f32[70]) tuple(a, b)"},
      {"  ROOT r = (f32[70], f32[70]) tuple(na, a)", "  ROOT r = (f32[70], f32[70]) tuple(a, a)"},
      {"  ROOT r = (f32[70], f32[70]) tuple(na, ma)", "  ROOT r = (f32[70], f32[70]) tuple(a, b)"},
      {"  ROOT r = (f32[70], f32[70]) tuple(b, a)", "  ROOT r = (f32[70], f32[70]) tuple(a, b)"},
      {"  ROOT r = (f32[70], f32[70]) tuple(b, na)", "  ROOT r = (f32[70], f32[70]) tuple(b, ma)"},
      {"  ROOT r = (f32[70], f32[70]) tuple(na, v)", "  ROOT r = (f32[70], f32[70]) tuple(a, a)"},
      {"  ROOT r = (f32[70], f32[70]) tuple(ma, na)",
       "  ROOT r = (f32[70], f32[70]) tuple(na, ma)"},
      {"  ROOT r = (f32[70], f32[70]) tuple(v, v)", "  ROOT r = (f32[70], f32[70]) tuple(na, a)"}};
  const std::string lines =
      "  p = (f32[70], f32[70]) parameter(0)\n  a = f32[70] get-tuple-element(p), index=0\n"
      "  b = f32[70] get-tuple-element(p), index=1\n  u = f32[1] constant({70})\n"
      "  w = f32[1] constant({90})\n  one = s32[] constant(1)\n  two = s32[] constant(2)\n"
      "  na = f32[70] dynamic-update-slice(a, u, one)\n"
      "  ma = f32[70] dynamic-update-slice(a, w, two)\n"
      "  v = f32[70] reverse(a), dimensions={0}\n";
  for (const auto& pair : branches) {
    for (const char* arrays : {kTwo, kTwoOwn}) {
      // As no rule knows it.
      for (const char* which : {"minimum(j, j0)", "maximum(j, j1)"}) {
        expect_as_evaluated(cat("HloModule m\n", kLess, "f {\n", lines, pair[0], " }\ng {\n", lines,
                                pair[1], " }\nENTRY main {\n", arrays,
                                "  j = s32[] parameter(2)\n  j0 = s32[] constant(0)\n",
                                "  j1 = s32[] constant(1)\n  k = s32[] ", which,
                                "\n  t = (f32[70], f32[70]) tuple(p0, p1)\n",
                                "  ROOT c = (f32[70], f32[70]) conditional(k, t, t), "
                                "branch_computations={f, g} }\n"));
      }
    }
  }
}

TEST_F(CpuEdges, LoopsInLoops) {
  expect_as_evaluated(cat(
      "HloModule m\n", counting("(s32[], f32[70], f32[70])", 3), "inner {\n",
      elements("(s32[], f32[70], f32[70])", {"f32[70]", "f32[70]"}),
      "  x = f32[1] dynamic-slice(b, i), dynamic_slice_sizes={1}\n  y = f32[1] add(x, x)\n"
      "  na = f32[70] dynamic-update-slice(a, y, next)\n"
      "  ROOT r = (s32[], f32[70], f32[70]) tuple(next, b, na) }\n"
      "outer {\n",
      elements("(s32[], f32[70], f32[70])", {"f32[70]", "f32[70]"}),
      "  zero = s32[] constant(0)\n  t = (s32[], f32[70], f32[70]) tuple(zero, b, a)\n"
      "  w = (s32[], f32[70], f32[70]) while(t), condition=cond, body=inner\n"
      "  wa = f32[70] get-tuple-element(w), index=1\n  wb = f32[70] get-tuple-element(w), index=2\n"
      "  sum = f32[70] add(wa, a)\n  ROOT r = (s32[], f32[70], f32[70]) tuple(next, sum, wb) }\n"
      "ENTRY main {\n",
      kTwo,
      "  zero = s32[] constant(0)\n  t = (s32[], f32[70], f32[70]) tuple(zero, p0, p1)\n"
      "  ROOT w = (s32[], f32[70], f32[70]) while(t), condition=cond, body=outer }\n"));
}

TEST_F(CpuEdges, AConditionReadsAnArray) {
  expect_as_evaluated(
      "HloModule m\ncond { s = (s32[], f32[70]) parameter(0)\n"
      "  a = f32[70] get-tuple-element(s), index=1\n  i = s32[] get-tuple-element(s), index=0\n"
      "  x = f32[1] dynamic-slice(a, i), dynamic_slice_sizes={1}\n  y = f32[] reshape(x)\n"
      "  n = f32[] constant(100)\n  ROOT l = pred[] compare(y, n), direction=LT }\n"
      "body { s = (s32[], f32[70]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
      "  a = f32[70] get-tuple-element(s), index=1\n  c = f32[] constant(20)\n"
      "  d = f32[70] broadcast(c), dimensions={}\n  na = f32[70] add(a, d)\n"
      "  four = s32[] constant(4)\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
      "  k = s32[] minimum(j, four)\n  ROOT r = (s32[], f32[70]) tuple(k, na) }\n"
      "ENTRY main {\n  p0 = f32[70] parameter(0)\n  zero = s32[] constant(0)\n"
      "  t = (s32[], f32[70]) tuple(zero, p0)\n"
      "  ROOT w = (s32[], f32[70]) while(t), condition=cond, body=body }\n");
}

TEST_F(CpuEdges, ALoopThatNeverTurnsKeepsItsArrays) {
  for (int turns : {-1, 0}) {
    expect_as_evaluated(
        text_of({.types = {"f32[3,2]"},
                 .body = "  u = f32[1,2] constant({{7, 8}})\n  z = s32[] constant(0)\n"
                         "  na = f32[3,2] dynamic-update-slice(a, u, i, z)\n",
                 .results = "na",
                 .initial = "  p0 = f32[3,2] parameter(0)\n",
                 .starts = "p0",
                 .turns = turns}));
  }
}

// Turn t writes row t, or row n - 1 - t, or seems to.
TEST_F(CpuEdges, LoopsThatWriteEveryRow) {
  const std::string row = "  u = f32[1,2] constant({{7, 8}})\n  z = s32[] constant(0)\n";
  const char* const starts[] = {
      "  at = s32[] add(i, z)\n", "  two = s32[] constant(2)\n  at = s32[] subtract(two, i)\n",
      "  n = s32[] constant(3)\n  m = s32[] subtract(n, i)\n  at = s32[] subtract(m, one)\n",
      // Of a choice that is no index from the end.
      "  two = s32[] constant(2)\n  back = s32[] subtract(two, i)\n"
      "  p = pred[] compare(i, one), direction=EQ\n  at = s32[] select(p, z, back)\n",
      "  p = pred[] compare(i, z), direction=LT\n  n = s32[] constant(3)\n  far = s32[] add(i, n)\n"
      "  at = s32[] select(p, far, i)\n",
      "  p = pred[] compare(i, one), direction=LT\n  n = s32[] constant(2)\n"
      "  at = s32[] select(p, n, i)\n"};
  for (const char* start : starts) {
    expect_as_evaluated(
        text_of({.types = {"f32[3,2]"},
                 .body = cat(row, start, "  na = f32[3,2] dynamic-update-slice(a, u, at, z)\n"),
                 .results = "na",
                 .initial = "  p0 = f32[3,2] parameter(0)\n",
                 .starts = "p0"}));
  }
}

TEST_F(CpuEdges, ResultsAreParametersConstantsAndTheSameTwice) {
  expect_as_evaluated(
      "HloModule m\nENTRY main {\n  x = f32[70] parameter(0)\n  y = s32[] parameter(1)\n"
      "  c = f32[3] constant({1, 2, 3})\n  k = s32[2] constant({4, 4})\n  s = f32[] constant(5)\n"
      "  n = f32[70] negate(x)\n  e = f32[0,3] constant({})\n"
      "  ROOT r = (f32[70], s32[], f32[3], s32[2], f32[], f32[70], f32[70], f32[70], f32[0,3]) "
      "tuple(x, y, c, k, s, n, n, x, e) }\n");
  expect_as_evaluated(
      "HloModule m\nENTRY main {\n  ROOT c = (f32[2], (s32[], pred[0]), bf16[]) constant(({1, 2}, "
      "(3, {}), 4)) }\n");
  expect_as_evaluated("HloModule m\nENTRY main {\n  ROOT x = f32[70] parameter(0) }\n");
  expect_as_evaluated("HloModule m\nENTRY main {\n  ROOT c = f32[] constant(2) }\n");
  expect_as_evaluated("HloModule m\nENTRY main {\n  ROOT r = () tuple() }\n");
}

TEST_F(CpuEdges, NoElements) {
  const char* const lines[] = {
      "  x = f32[0] parameter(0)\n  ROOT y = f32[0] exponential(x)",
      "  x = f32[0,3] parameter(0)\n  ROOT y = f32[3,0] transpose(x), dimensions={1,0}",
      "  x = f32[0,3] parameter(0)\n  ROOT y = f32[0] reshape(x)",
      "  x = f32[0,3] parameter(0)\n  z = f32[] constant(2)\n"
      "  ROOT y = f32[3] reduce(x, z), dimensions={0}, to_apply=sum",
      "  x = f32[3,0] parameter(0)\n  z = f32[] constant(2)\n"
      "  ROOT y = f32[3] reduce(x, z), dimensions={1}, to_apply=sum",
      "  x = f32[3,0] parameter(0)\n  z = f32[] constant(2)\n"
      "  ROOT y = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum",
      "  x = f32[3,0] parameter(0)\n  z = f32[] constant(2)\n"
      "  ROOT y = f32[0] reduce(x, z), dimensions={0}, to_apply=sum",
      "  x = f32[3,0] parameter(0)\n  y = f32[0,4] parameter(1)\n  ROOT d = f32[3,4] dot(x, y), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
      "  x = f32[0,3] parameter(0)\n  y = f32[3,4] parameter(1)\n  ROOT d = f32[0,4] dot(x, y), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
      "  x = f32[0] parameter(0)\n  y = f32[4] parameter(1)\n"
      "  ROOT c = f32[4] concatenate(x, y, x), dimensions={0}",
      "  x = f32[0] parameter(0)\n  z = f32[] constant(2)\n"
      "  ROOT p = f32[3] pad(x, z), padding=1_2",
      "  x = f32[4] parameter(0)\n  z = f32[] constant(2)\n"
      "  ROOT p = f32[0] pad(x, z), padding=-2_-2",
      "  x = f32[4] parameter(0)\n  u = f32[0] parameter(1)\n  i = s32[] constant(1)\n"
      "  ROOT p = f32[4] dynamic-update-slice(x, u, i)",
      "  x = f32[4] parameter(0)\n  i = s32[] constant(1)\n"
      "  ROOT p = f32[0] dynamic-slice(x, i), dynamic_slice_sizes={0}",
      "  ROOT i = f32[0,2] iota(), iota_dimension=1",
      "  x = f32[] parameter(0)\n  ROOT b = f32[2,0] broadcast(x), dimensions={}",
      "  x = f32[0,4] parameter(0)\n  z = f32[] constant(0)\n  ROOT w = f32[0,4] "
      "reduce-window(x, z), window={size=1x4 pad=0_0x3_0}, to_apply=sum"};
  for (const char* line : lines) {
    expect_as_evaluated(cat("HloModule m\nsum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n",
                            "  ROOT s = f32[] add(a, b) }\nENTRY main {\n", line, " }\n"));
  }
  expect_as_evaluated(
      text_of({.types = {"f32[0,3]", "f32[0]"},
               .body = "  na = f32[0,3] add(a, a)\n",
               .results = "na, b",
               .initial = "  p0 = f32[0,3] parameter(0)\n  p1 = f32[0] parameter(1)\n",
               .starts = "p0, p1"}));
}

TEST_F(CpuEdges, RankZero) {
  const char* const lines[] = {
      "  x = f32[] parameter(0)\n  ROOT y = f32[] add(x, x)",
      "  x = f32[] parameter(0)\n  z = f32[] constant(2)\n"
      "  ROOT y = f32[] reduce(x, z), dimensions={}, to_apply=sum",
      "  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT d = f32[] dot(x, y)",
      "  x = f32[] parameter(0)\n  ROOT y = f32[1,1] reshape(x)",
      "  x = f32[1,1] parameter(0)\n  ROOT y = f32[] reshape(x)",
      "  x = f32[] parameter(0)\n  ROOT y = f32[] transpose(x), dimensions={}",
      "  x = f32[] parameter(0)\n  ROOT y = f32[] dynamic-slice(x), dynamic_slice_sizes={}",
      "  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
      "  ROOT z = f32[] dynamic-update-slice(x, y)",
      "  x = f32[] parameter(0)\n  z = f32[] constant(2)\n  ROOT y = f32[] pad(x, z), padding=",
      "  x = f32[] parameter(0)\n  ROOT y = f32[] reverse(x), dimensions={}",
      "  x = f32[] parameter(0)\n  ROOT y = f32[] slice(x), slice={}",
      "  x = f32[] parameter(0)\n  ROOT y = f32[] broadcast(x), dimensions={}",
      "  x = bf16[] parameter(0)\n  ROOT y = bf16[] add(x, x)",
      "  x = c64[] parameter(0)\n  ROOT y = c64[] multiply(x, x)"};
  for (const char* line : lines) {
    if (std::string_view(line).ends_with("padding=")) continue;  // HLO has no text for it
    expect_as_evaluated(cat("HloModule m\nsum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n",
                            "  ROOT s = f32[] add(a, b) }\nENTRY main {\n", line, " }\n"));
  }
}

// An index of u64 beyond all s64 lies behind the array, not before it.
TEST_F(CpuEdges, LargeUnsignedIndicesClampToTheEnd) {
  expect_as_evaluated(
      "HloModule m\nENTRY main {\n  x = f32[70] parameter(0)\n"
      "  j = u64[] parameter(1)\n  z = u64[] subtract(j, j)\n  i = u64[] not(z)\n"
      "  ROOT y = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2} }\n");
}

TEST_F(CpuEdges, ScalarsOfKernelsAreCarried) {
  expect_as_evaluated(text_of({.types = {"bf16[]", "c64[]"},
                               .body = "  na = bf16[] add(a, a)\n  nb = c64[] multiply(b, b)\n",
                               .results = "na, nb",
                               .initial = "  p0 = bf16[] parameter(0)\n  p1 = c64[] parameter(1)\n",
                               .starts = "p0, p1"}));
}

// Reads of an array whose place another result takes.
TEST_F(CpuEdges, ResultsThatReadEachOther) {
  expect_as_evaluated(
      text_of({.types = {"f32[70]", "f32[70]"},
               .body = "  v = f32[70] reverse(b), dimensions={0}\n"
                       "  na = f32[70] add(a, v)\n  w = f32[70] reverse(na), dimensions={0}\n"
                       "  nb = f32[70] subtract(w, a)\n",
               .results = "na, nb",
               .initial = kTwo,
               .starts = "p0, p1"}));
  expect_as_evaluated(
      text_of({.types = {"f32[2,3]", "f32[3,2]"},
               .body = "  ra = f32[3,2] reshape(a)\n  nb = f32[3,2] add(ra, b)\n"
                       "  na = f32[2,3] reshape(b)\n",
               .results = "na, nb",
               .initial = "  p0 = f32[2,3] parameter(0)\n  p1 = f32[3,2] parameter(1)\n",
               .starts = "p0, p1"}));
}

// A result that nobody reads takes no memory that a branch still needs. The barrier keeps it.
TEST_F(CpuEdges, ABranchWritesAResultThatNobodyReads) {
  expect_as_evaluated(
      "HloModule m\n"
      "f { s = (f32[64], f32[4]) parameter(0)\n  a = f32[64] get-tuple-element(s), index=0\n"
      "  u = f32[4] get-tuple-element(s), index=1\n  x = f32[64] negate(a)\n"
      "  z = s32[] constant(3)\n  y = f32[64] dynamic-update-slice(x, u, z)\n"
      "  ROOT t = (f32[64], f32[64]) tuple(a, y) }\n"
      "g { s = (f32[64], f32[4]) parameter(0)\n  a = f32[64] get-tuple-element(s), index=0\n"
      "  x = f32[64] abs(a)\n  ROOT t = (f32[64], f32[64]) tuple(a, x) }\n"
      "ENTRY main {\n  p = s32[] constant(0)\n  i = f32[64] iota(), iota_dimension=0\n"
      "  a = f32[64] floor(i)\n  u = f32[4] constant({100, 200, 300, 400})\n"
      "  t = (f32[64], f32[4]) tuple(a, u)\n"
      "  c = (f32[64], f32[64]) conditional(p, t, t), branch_computations={f, g}\n"
      "  cb = (f32[64], f32[64]) opt-barrier(c)\n  c1 = f32[64] get-tuple-element(cb), index=1\n"
      "  w = f32[64] reverse(c1), dimensions={0}\n  s = f32[64] subtract(w, a)\n"
      "  ROOT r = (f32[64], f32[64]) tuple(s, a) }\n");
}

TEST_F(CpuEdges, AScatterIntoNoElements) {
  expect_as_evaluated(
      "HloModule m\nadd { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = f32[] add(a, b) }\n"
      "ENTRY main {\n  z = f32[0] parameter(0)\n  i = s32[3,1] parameter(1)\n"
      "  u = f32[3] parameter(2)\n  ROOT s = f32[0] scatter(z, i, u), update_window_dims={}, "
      "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
      "to_apply=add }\n");
}

// Chains that a call for each link would not survive.
TEST_F(CpuEdges, LongChains) {
  std::string moved = "HloModule m\nENTRY main {\n  v0 = f32[6] parameter(0)\n";
  for (int i = 1; i <= 20000; ++i) {
    moved += cat("  v", i, " = f32[6] ", i % 2 == 1 ? "reverse" : "copy", "(v", i - 1, ")",
                 i % 2 == 1 ? ", dimensions={0}\n" : "\n");
  }
  expect_as_evaluated(moved + "  ROOT r = f32[6] negate(v20000) }\n");
  std::string added =
      "HloModule m\nENTRY main {\n  a = f32[6] parameter(0)\n  u = f32[1] parameter(1)\n"
      "  z = s32[] constant(0)\n  d = f32[6] dynamic-update-slice(a, u, z)\n"
      "  v0 = s32[] parameter(2)\n";
  for (int i = 1; i <= 20000; ++i)
    added += cat("  v", i, " = s32[] ", i % 2 == 1 ? "multiply" : "xor", "(v", i - 1, ", v0)\n");
  expect_as_evaluated(added +
                      "  f = f32[] convert(v20000)\n  b = f32[6] broadcast(f), dimensions={}\n"
                      "  q = f32[6] add(a, b)\n  ROOT r = (f32[6], f32[6]) tuple(d, q) }\n");
}

// A turn's branch writes into the array what is computed of other places of the same array.
TEST_F(CpuEdges, ABranchComputesItsPartOfTheArrayThatItUpdates) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const std::string state = "(s32[], f32[40], f32[20])", given = "(f32[40], f32[20], s32[])";
  for (const char* part : {"f32[20] reverse(half), dimensions={0}", "f32[20] add(half, y)"}) {
    expect_as_evaluated(cat(
        "HloModule m\nkeep { a = ", given,
        " parameter(0)\n  ROOT r = f32[40] get-tuple-element(a), "
        "index=0 }\nwrite { a = ",
        given,
        " parameter(0)\n  x = f32[40] get-tuple-element(a), index=0\n"
        "  p = f32[20] get-tuple-element(a), index=1\n  i = s32[] get-tuple-element(a), index=2\n"
        "  u = f32[40] dynamic-update-slice(x, p, i)\n  q = f32[20] negate(p)\n"
        "  end = s32[] constant(20)\n  ROOT v = f32[40] dynamic-update-slice(u, q, end) }\ncond { "
        "s = ",
        state,
        " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(9)\n"
        "  ROOT l = pred[] compare(i, n), direction=LT }\nbody { s = ",
        state,
        " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
        "  x = f32[40] get-tuple-element(s), index=1\n  y = f32[20] get-tuple-element(s), index=2\n"
        "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
        "  half = f32[20] dynamic-slice(x, i), dynamic_slice_sizes={20}\n  part = ",
        part, "\n  other = f32[20] sine(half)\n  k = s32[] and(i, one)\n  t = ", given,
        " tuple(x, part, i)\n"
        "  o = ",
        given,
        " tuple(x, other, j)\n  c = f32[40] conditional(k, t, o), "
        "branch_computations={write, keep}\n  ROOT r = ",
        state,
        " tuple(j, c, y) }\nENTRY main {\n"
        "  x = f32[40] parameter(0)\n  y = f32[20] parameter(1)\n  i = s32[] constant(0)\n  s = ",
        state, " tuple(i, x, y)\n  w = ", state,
        " while(s), condition=cond, body=body\n"
        "  ROOT r = f32[40] get-tuple-element(w), index=1 }\n"));
  }
}

// The branch before it is the last step that the lowering knew to read the array.
TEST_F(CpuEdges, WhatALaterBranchComputesReadsArraysThatStillLive) {
  const hlo::Module module = hlo::parse_text(R"(HloModule m
one { t = (f32[64,5]) parameter(0)
  g = f32[64,5] get-tuple-element(t), index=0
  r = f32[64,5] reverse(g), dimensions={0}
  ROOT o = (f32[64,5]) tuple(r) }
two { t = (f32[64,5]) parameter(0)
  g = f32[64,5] get-tuple-element(t), index=0
  v = f32[64,5] reverse(g), dimensions={1}
  w = f32[64,5] add(v, g)
  ROOT o = (f32[64,5]) tuple(w) }
ENTRY main {
  c = f32[64,5] parameter(0)
  q = s32[] parameter(1)
  z = s32[] constant(0)
  k = f32[] constant(2)
  kb = f32[64,5] broadcast(k), dimensions={}
  x2 = f32[64,5] maximum(c, kb)
  s = f32[3,5] slice(c), slice={[34:37],[0:5]}
  x7 = f32[64,5] dynamic-update-slice(x2, s, q, z)
  xr = f32[64,5] reverse(x2), dimensions={0}
  x3 = f32[64,5] add(c, xr)
  ta = (f32[64,5]) tuple(x7)
  tb = (f32[64,5]) tuple(x3)
  d = (f32[64,5]) conditional(q, ta, tb), branch_computations={one, two}
  ROOT e = f32[64,5] get-tuple-element(d), index=0 })")
                                 .value();
  Literal c(Shape(f32, {64, 5}));
  for (size_t i = 0; i < 320; ++i) c.mutable_values<float>()[i] = static_cast<float>(i % 37) / 4;
  for (const int64_t which : {0, 1}) {
    const Literal q = Literal::scalar(s32, which);
    EXPECT_EQ(difference(OnCpu(module).run({c, q}), interpreter::evaluate(module, {c, q}).value()),
              "")
        << which;
  }
}

// Each element of the result is one of few that were cut to half of their bits.
TEST_F(CpuEdges, RepeatedElementsOfNarrowedIntegers) {
  for (const std::string types : {"u64 u32", "s64 s32", "s32 s16", "u32 u8"}) {
    const std::string wide = types.substr(0, 3), narrow = types.substr(4);
    for (const int count : {2, 4}) {
      expect_as_evaluated(cat("HloModule m\nENTRY main { x = ", wide, "[", count,
                              "] parameter(0)\n y = ", narrow, "[", count,
                              "] convert(x)\n b = ", narrow, "[50,", count,
                              "] broadcast(y), dimensions={1}\n ROOT r = ", narrow, "[5,",
                              10 * count, "] reshape(b) }\n"));
    }
  }
}

// Elements by turns, as associative scans join them.
TEST_F(CpuEdges, SumsOfPadsThatFillEachOther) {
  for (const char* type : {"f32", "f64", "s32", "u8", "bf16", "c64"}) {
    for (const int odd : {1, 2, 7, 40}) {
      for (const int even : {odd, odd + 1}) {
        const std::string to = cat(type, "[", even + odd, ",5]");
        expect_as_evaluated(
            cat("HloModule m\nENTRY main { x = ", type, "[", even, ",5] parameter(0)\n y = ", type,
                "[", odd, ",5] parameter(1)\n z = ", type, "[] constant(",
                type == std::string("c64") ? "(0, 0)" : "0", ")\n n = ", type, "[", even,
                ",5] multiply(x, x)\n p = ", to, " pad(n, z), padding=0_", even == odd ? 1 : 0,
                "_1x0_0_0\n q = ", to, " pad(y, z), padding=1_", even == odd ? 0 : 1,
                "_1x0_0_0\n ROOT r = ", to, " add(q, p) }\n"));
      }
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
