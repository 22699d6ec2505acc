// States of loops that are split into their columns or rows.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/cpu/rewrites/shapes/split_columns.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

bool is_split(const std::string& text) {
  return split_into_columns(hlo::parse_text(text).value()).value().has_value();
}

void expect_split(const std::string& text) {
  EXPECT_TRUE(is_split(text)) << text;
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_as_evaluated(text, {.share = 1e-5});
}

// A loop of `turns` over (i, x), whose body computes `next` of x.
std::string loop(const std::string& type, const std::string& body, int turns = 5,
                 const std::string& condition = "") {
  return cat(
      "HloModule m\nsum { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  ROOT c = f32[] add(a, b) }\nbody { s = (s32[], ",
      type, ") parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  x = ", type,
      " get-tuple-element(s), index=1\n  one = s32[] constant(1)\n  zero = s32[] "
      "constant(0)\n  two = s32[] constant(2)\n  j = s32[] add(i, one)\n",
      body, "\n  ROOT r = (s32[], ", type, ") tuple(j, next) }\ncondition { s = (s32[], ", type,
      ") parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n", condition,
      "  n = s32[] constant(", turns,
      ")\n  ROOT less = pred[] compare(i, n), direction=LT }\nENTRY main {\n  x = ", type,
      " parameter(0)\n  zero = s32[] constant(0)\n  s = (s32[], ", type,
      ") tuple(zero, x)\n  w = (s32[], ", type,
      ") while(s), condition=condition, body=body\n  ROOT y = ", type,
      " get-tuple-element(w), index=1 }\n");
}

std::string column(const char* name, const char* of, int j, const char* dtype = "f32") {
  return cat("  ", name, " = ", dtype, "[100,1] slice(", of, "), slice={[0:100], [", j, ":", j + 1,
             "]}\n");
}

TEST(CpuColumnStates, UpdatesOfColumns) {
  for (const char* dtype : {"f32", "u32", "s8", "f64"}) {
    const std::string wide = cat(dtype, "[100,4]"), thin = cat(dtype, "[100,1]");
    expect_split(loop(
        wide, cat(column("a", "x", 0, dtype), column("b", "x", 3, dtype), "  c = ", thin,
                  " add(a, b)\n  y = ", wide, " dynamic-update-slice(x, c, zero, two)\n",
                  column("d", "y", 2, dtype), "  e = ", thin, " subtract(d, a)\n  next = ", wide,
                  " dynamic-update-slice(y, e, zero, one)")));
  }
}

// XLA writes loops over a scalar alone where it has compiled a module.
TEST(CpuColumnStates, BesideALoopOfOneValue) {
  std::string text = loop(
      "f32[100,4]", cat(column("a", "x", 0), column("b", "x", 3), "  c = f32[100,1] add(a, b)\n",
                        "  next = f32[100,4] dynamic-update-slice(x, c, zero, two)"));
  const auto put = [&](const std::string& at, const std::string& lines) {
    text.replace(text.find(at), at.size(), lines);
  };
  put("ENTRY main {\n",
      "turn { k = s32[] parameter(0)\n  one = s32[] constant(3)\n  ROOT m = s32[] add(k, one) }\n"
      "more { k = s32[] parameter(0)\n  n = s32[] constant(20)\n  ROOT l = pred[] compare(k, n), "
      "direction=LT }\nENTRY main {\n  k = s32[] parameter(1)\n  v = s32[] while(k), "
      "condition=more, body=turn\n");
  put("  ROOT y =", "  y =");
  text.replace(text.rfind(" }"), 2, "\n  ROOT t = (f32[100,4], s32[]) tuple(y, v) }");
  expect_split(text);
}

// The older form of an update has its starts in one array: its columns are not known.
TEST(CpuColumnStates, UpdatesAtStartsInOneArray) {
  expect_as_evaluated(
      loop("f32[3,100]",
           "  a = f32[1,100] slice(x), slice={[0:1], [0:100]}\n"
           "  b = f32[1,100] slice(x), slice={[2:3], [0:100]}\n  c = f32[1,100] add(a, b)\n"
           "  st = s32[2] constant({1, 0})\n"
           "  next = f32[3,100] dynamic-update-slice(x, c, st)"));
}

TEST(CpuColumnStates, UpdatesOfPartsOfColumnsAndStartsOutOfBounds) {
  expect_split(loop("f32[100,3]",
                    cat(column("a", "x", 0),
                        "  p = f32[7,1] slice(a), slice={[3:10], [0:1]}\n"
                        "  far = s32[] constant(9)\n  y = f32[100,3] "
                        "dynamic-update-slice(x, p, i, far)\n  low = s32[] constant(-4)\n"
                        "  q = f32[7,1] negate(p)\n  next = f32[100,3] dynamic-update-slice(y, q, "
                        "far, low)")));
}

TEST(CpuColumnStates, ConcatenationsOfColumnsAndOfRows) {
  const std::string formula = cat(column("a", "x", 0), column("b", "x", 1), column("c", "x", 2),
                                  "  p = f32[100,1] multiply(a, b)\n  q = f32[100,1] sine(c)\n");
  const std::string sum =
      "  h = f32[] constant(0.125)\n  hs = f32[100,3] broadcast(h), dimensions={}\n"
      "  z = f32[100,3] multiply(y, hs)\n  next = f32[100,3] add(x, z)";
  expect_split(loop("f32[100,3]", cat(formula,
                                      "  y = f32[100,3] concatenate(p, q, a), "
                                      "dimensions={1}\n",
                                      sum)));
  // As a function that was batched writes it: rows, and their transpose.
  expect_split(
      loop("f32[100,3]",
           cat(formula,
               "  pr = f32[1,100] reshape(p)\n  qr = f32[1,100] reshape(q)\n"
               "  ar = f32[1,100] reshape(a)\n  rows = f32[3,100] concatenate(pr, qr, ar), "
               "dimensions={0}\n  twice = f32[3,100] add(rows, rows)\n"
               "  y = f32[100,3] transpose(twice), dimensions={1,0}\n",
               sum)));
}

TEST(CpuColumnStates, StatesOfRows) {
  expect_split(loop("f32[3,100]",
                    "  a = f32[1,100] slice(x), slice={[0:1], [0:100]}\n"
                    "  b = f32[2,100] slice(x), slice={[1:3], [0:100]}\n"
                    "  turned = f32[3,100] concatenate(b, a), dimensions={0}\n"
                    "  back = f32[100,3] transpose(turned), dimensions={1,0}\n"
                    "  c = f32[100,1] slice(back), slice={[0:100], [2:3]}\n"
                    "  d = f32[1,100] reshape(c)\n  y = f32[3,100] "
                    "dynamic-update-slice(turned, d, two, zero)\n"
                    "  next = f32[3,100] subtract(y, x)"));
}

// Of a part of the rows, of every other column, of folds along other dimensions.
TEST(CpuColumnStates, SlicesAndFolds) {
  expect_split(loop("f32[2,70,4]",
                    "  f = f32[] constant(0)\n  a = f32[2,70,2] slice(x), slice={[0:2], [0:70], "
                    "[1:4:2]}\n  b = f32[2,70,4] concatenate(a, a), dimensions={2}\n"
                    "  w = f32[2,70,1] slice(x), slice={[0:2], [0:70], [1:2]}\n  y = f32[2,70,4] "
                    "dynamic-update-slice(x, w, zero, zero, two)\n"
                    "  q = f32[2,70,4] multiply(b, y)\n"
                    "  r0 = f32[70,4] reduce(q, f), dimensions={0}, to_apply=sum\n"
                    "  s0 = f32[2,70] reduce(q, f), dimensions={2}, to_apply=sum\n"
                    "  rb = f32[2,70,4] broadcast(r0), dimensions={1,2}\n"
                    "  sb = f32[2,70,4] broadcast(s0), dimensions={0,1}\n"
                    "  t = f32[2,70,4] add(rb, sb)\n  k = f32[4] constant({1, 0.5, -1, 0.25})\n"
                    "  kb = f32[2,70,4] broadcast(k), dimensions={2}\n"
                    "  u = f32[2,70,4] multiply(t, kb)\n  next = f32[2,70,4] tanh(u)"));
}

TEST(CpuColumnStates, LoopsInLoopsAndStatesThatStay) {
  const char* const wide = "f32[100,3]";
  const std::string state = cat("(s32[], ", wide, ", ", wide, ")");
  const auto body = [&](const char* name, const std::string& next) {
    return cat(name, " { s = ", state,
               " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
               "  x = ",
               wide, " get-tuple-element(s), index=1\n  k = ", wide,
               " get-tuple-element(s), index=2\n  one = s32[] constant(1)\n  zero = s32[] "
               "constant(0)\n  j = s32[] add(i, one)\n",
               next, " }\n");
  };
  const auto condition = [&](const char* name) {
    return cat(name, " { s = ", state,
               " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"
               "  n = s32[] constant(4)\n  ROOT less = pred[] compare(i, n), direction=LT }\n");
  };
  const std::string step =
      cat(column("a", "x", 0), column("b", "k", 1), "  c = f32[100,1] add(a, b)\n  y = ", wide,
          " dynamic-update-slice(x, c, zero, one)\n");
  expect_split(cat(
      "HloModule m\n", body("inner", cat(step, "  ROOT r = ", state, " tuple(j, y, k)")),
      condition("inside"),
      body("outer",
           cat(step, "  t = ", state, " tuple(zero, y, k)\n  w = ", state,
               " while(t), condition=inside, body=inner\n  z = ", wide,
               " get-tuple-element(w), index=1\n", column("d", "z", 1),
               "  e = f32[100,1] negate(d)\n  v = ", wide,
               " dynamic-update-slice(z, e, zero, zero)\n  ROOT r = ", state, " tuple(j, v, k)")),
      condition("outside"), "ENTRY main { x = ", wide, " parameter(0)\n  k = ", wide,
      " parameter(1)\n  zero = s32[] constant(0)\n  s = ", state,
      " tuple(zero, x, k)\n  w = ", state, " while(s), condition=outside, body=outer\n  y = ", wide,
      " get-tuple-element(w), index=1\n  l = ", wide,
      " get-tuple-element(w), index=2\n  ROOT r = (", wide, ", ", wide, ") tuple(y, l) }\n"));
}

// The loop does not say how many.
TEST(CpuColumnStates, LoopsOfFewTurns) {
  const std::string set = cat(column("a", "x", 0),
                              "  next = f32[100,3] "
                              "dynamic-update-slice(x, a, zero, two)");
  for (const int turns : {0, 1, 2}) expect_split(loop("f32[100,3]", set, turns));
}

TEST(CpuColumnStates, StatesThatStayAsTheyAre) {
  const std::string set = cat(column("a", "x", 0),
                              "  next = f32[100,3] "
                              "dynamic-update-slice(x, a, zero, two)");
  EXPECT_TRUE(is_split(loop("f32[100,3]", set)));
  for (const int turns : {3, 4}) {
    const std::string loops = "condition=condition, body=body";
    std::string known = loop("f32[100,3]", set, turns);
    known.insert(known.find(loops) + loops.size(),
                 cat(", backend_config={\"known_trip_count\":{\"n\":\"", turns, "\"}}"));
    EXPECT_EQ(is_split(known), turns == 4) << "the state is taken apart for few turns";
  }
  EXPECT_FALSE(is_split(loop("f32[70,70,8]",
                             "  t = f32[70,70,8] transpose(x), dimensions={1,0,2}\n"
                             "  p = f32[1,1,1] slice(t), slice={[0:1], [0:1], [0:1]}\n"
                             "  q = f32[1,1,1] negate(p)\n  y = f32[70,70,8] tanh(t)\n"
                             "  next = f32[70,70,8] dynamic-update-slice(y, q, i, zero, i)")))
      << "one element is no column";
  EXPECT_FALSE(
      is_split(loop("f32[100,3]", set, 5, "  x = f32[100,3] get-tuple-element(s), index=1\n")))
      << "the condition may read it";
  EXPECT_FALSE(is_split(loop("f32[100,3]", cat(column("a", "x", 0),
                                               "  next = f32[100,3] "
                                               "dynamic-update-slice(x, a, zero, i)"))))
      << "a column that no one knows";
  EXPECT_FALSE(is_split(loop("f32[100,3]",
                             "  e = f32[100,3] exponential(x)\n"
                             "  next = f32[100,3] add(x, e)")))
      << "flat vectors are as good";
  EXPECT_FALSE(
      is_split(loop("f32[100,3]", cat(column("a", "x", 0),
                                      "  y = f32[100,3] dynamic-update-slice(x, a, zero, two)\n"
                                      "  next = f32[100,3] reverse(y), dimensions={0,1}"))))
      << "it is put together and taken apart each turn";
}

}  // namespace
}  // namespace heddle::cpu
