// What the turns of loops compute before and after them: the values are those of the loop.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

struct Loop {
  std::string_view type = "f32";
  std::string row = "3";  // sizes; "" a scalar
  int64_t turns = 70;
  int64_t rows = 70;             // of xs
  bool slices_backward = false;  // turn t takes row turns - 1 - t
  bool updates_backward = false;
  std::string lines;        // of x, h, i: the next state g, and y
  std::string called = "";  // computations that they call
};

std::string text(const Loop& loop) {
  const std::string comma = loop.row.empty() ? "" : ",";
  const std::string row = cat(loop.type, "[", loop.row, "]");
  const std::string one = cat(loop.type, "[1", comma, loop.row, "]");
  const std::string xs = cat(loop.type, "[", loop.rows, comma, loop.row, "]");
  const std::string ys = cat(loop.type, "[", loop.turns, comma, loop.row, "]");
  const std::string state = cat("(s32[], ", row, ", ", xs, ", ", ys, ")");
  std::string zeros;
  if (!loop.row.empty()) zeros = ", zero";
  for (const char c : loop.row)
    if (c == ',') zeros += ", zero";
  std::string lines = loop.lines;
  for (size_t at; (at = lines.find("ROW")) != std::string::npos;) lines.replace(at, 3, row);
  for (size_t at; (at = lines.find("TYPE")) != std::string::npos;) lines.replace(at, 4, loop.type);
  return cat(
      "HloModule m\n", loop.called, "cond { s = ", state,
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(", loop.turns,
      ")\n ROOT r = pred[] compare(i, n), direction=LT }\nbody { s = ", state,
      " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n h = ", row,
      " get-tuple-element(s), index=1\n xs = ", xs, " get-tuple-element(s), index=2\n ys = ", ys,
      " get-tuple-element(s), index=3\n one = s32[] constant(1)\n zero = s32[] constant(0)\n",
      " j = s32[] add(i, one)\n last = s32[] constant(", loop.turns - 1,
      ")\n back = s32[] subtract(last, i)\n x1 = ", one, " dynamic-slice(xs, ",
      loop.slices_backward ? "back" : "i", zeros, "), dynamic_slice_sizes={1", comma, loop.row,
      "}\n x = ", row, " reshape(x1)\n", lines, " y1 = ", one, " reshape(y)\n zs = ", ys,
      " dynamic-update-slice(ys, y1, ", loop.updates_backward ? "back" : "i", zeros,
      ")\n ROOT r = ", state, " tuple(j, g, xs, zs) }\nENTRY main { h = ", row,
      " parameter(0)\n xs = ", xs, " parameter(1)\n ys = ", ys,
      " parameter(2)\n i = s32[] constant(0)\n init = ", state,
      " tuple(i, h, xs, ys)\n l = ", state, " while(init), condition=cond, body=body\n a = ", row,
      " get-tuple-element(l), index=1\n b = ", ys, " get-tuple-element(l), index=3\n ROOT r = (",
      row, ", ", ys, ") tuple(a, b) }\n");
}

// A function of the row, one of the number of the turn, and one of the state for the result.
const std::string kAll =
    " e = ROW tanh(x)\n f = TYPE[] convert(i)\n c = TYPE[] cosine(f)\n"
    " cs = ROW broadcast(c), dimensions={}\n half = TYPE[] constant(0.5)\n"
    " halves = ROW broadcast(half), dimensions={}\n k = ROW multiply(h, halves)\n"
    " l = ROW add(k, e)\n g = ROW multiply(l, cs)\n p = ROW add(g, x)\n y = ROW exponential(p)\n";

TEST(LoopDistribution, ValuesAreThoseOfTheLoop) {
  for (const char* type : {"f32", "f64", "f16", "bf16"}) {
    for (const char* row : {"", "1", "3", "2,2", "16", "40"}) {
      SCOPED_TRACE(cat(type, " ", row));
      expect_as_evaluated(text({.type = type, .row = row, .lines = kAll}),
                          {.ulp = 8, .share = 1e-5});
    }
  }
}

TEST(LoopDistribution, ValuesAreThoseOfTheLoopInEachOrder) {
  for (const bool slices : {false, true}) {
    for (const bool updates : {false, true}) {
      SCOPED_TRACE(cat(slices, " ", updates));
      for (int64_t turns : {1, 16, 63, 64, 65, 100}) {
        for (int64_t more : {0, 3}) {
          expect_as_evaluated(text({.turns = turns,
                                    .rows = turns + more,
                                    .slices_backward = slices,
                                    .updates_backward = updates,
                                    .lines = kAll}),
                              {.ulp = 8, .share = 1e-5});
          // A map, which leaves no loop.
          expect_as_evaluated(text({.turns = turns,
                                    .rows = turns + more,
                                    .slices_backward = slices,
                                    .updates_backward = updates,
                                    .lines = " y = ROW negate(x)\n g = ROW copy(h)\n"}));
        }
      }
    }
  }
}

TEST(LoopDistribution, IntegersOfATurnAreThoseOfTheLoop) {
  std::string mixed =
      " f = TYPE[] convert(i)\n fs = ROW broadcast(f), dimensions={}\n"
      " m0 = ROW add(x, fs)\n";
  for (int k = 1; k <= 30; ++k) {
    mixed += cat(" s", k, " = TYPE[] constant(", k % 7 + 1, ")\n b", k, " = ROW broadcast(s", k,
                 "), dimensions={}\n t", k, " = ROW multiply(m", k - 1, ", b", k, ")\n m", k,
                 " = ROW xor(t", k, ", fs)\n");
  }
  for (const char* type : {"u32", "s32", "u64", "s8", "u16"}) {
    for (const char* row : {"", "2", "5,2"}) {
      SCOPED_TRACE(cat(type, " ", row));
      expect_as_evaluated(
          text({.type = type,
                .row = row,
                .lines = mixed + " g = ROW add(h, m30)\n y = ROW multiply(g, m30)\n"}));
      expect_as_evaluated(text(
          {.type = type, .row = row, .lines = mixed + " g = ROW copy(x)\n y = ROW xor(h, m30)\n"}));
    }
  }
}

// The state is a result too, and what follows from the one before the turn.
TEST(LoopDistribution, TheStateBeforeATurnIsKept) {
  expect_as_evaluated(
      text({.lines = " g = ROW add(h, x)\n e = ROW sine(h)\n y = ROW multiply(e, x)\n"}),
      {.ulp = 8, .share = 1e-5});
}

// The terms are made after the loop, and added in the order of the turns: nothing is rounded in
// another way.
TEST(LoopDistribution, SumsAreThoseOfTheLoop) {
  for (const char* sum :
       {"add(h, q)", "add(q, h)", "subtract(h, q)", "subtract(q, h)", "add(h, h)"}) {
    for (const char* row : {"", "3", "2,2"}) {
      for (const bool backward : {false, true}) {
        SCOPED_TRACE(cat(sum, " ", row));
        expect_as_evaluated(
            text({.row = row,
                  .slices_backward = backward,
                  .updates_backward = backward,
                  .lines = cat(" e = ROW exponential(x)\n q = ROW sqrt(e)\n g = ROW ", sum,
                               "\n y = ROW tanh(x)\n")}),
            {.ulp = 8, .share = 1e-5});
      }
    }
  }
  for (const char* type : {"f32", "f64", "f16"})
    expect_as_evaluated(
        text({.type = type,
              .lines = " q = ROW atan2(x, x)\n g = ROW add(h, q)\n y = ROW add(h, x)\n"}),
        {.ulp = 8, .share = 1e-5});
}

// x of the turn and h beside each other, times a matrix: both products and their sum.
TEST(LoopDistribution, ProductsOfJoinedRowsAreThoseOfTheLoop) {
  for (const char* type : {"f32", "f64", "bf16"}) {
    for (const bool is_turned : {false, true}) {
      const std::string lines = cat(
          " k = TYPE[104,40] iota(), iota_dimension=0\n",
          " l = TYPE[104,40] iota(), iota_dimension=1\n m = TYPE[104,40] multiply(k, l)\n",
          " c = TYPE[] constant(7e-4)\n cs = TYPE[104,40] broadcast(c), dimensions={}\n",
          " w = TYPE[104,40] multiply(m, cs)\n hx = TYPE[2,24] slice(x), slice={[0:2], [0:24]}\n",
          " j2 = TYPE[2,104] concatenate(", is_turned ? "hx, h, h" : "h, h, hx",
          "), dimensions={1}\n d = TYPE[2,40] dot(j2, w), lhs_contracting_dims={1}, "
          "rhs_contracting_dims={0}\n t = ROW tanh(d)\n g = ROW add(t, x)\n y = ROW copy(t)\n");
      SCOPED_TRACE(cat(type, is_turned));
      expect_as_evaluated(text({.type = type, .row = "2,40", .lines = lines}),
                          {.share = type[0] == 'b' ? 0.05 : 1e-4});
    }
  }
}

// What is stacked for the functions after the loop is one of several results.
TEST(LoopDistribution, RowsMayBeOneOfSeveralResults) {
  const std::string state = "(s32[], f32[])";
  const std::string more =
      cat("more { p = ", state,
          " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = s32[] constant(40)\n"
          " ROOT r = pred[] compare(i, n), direction=LT }\nnext { p = ",
          state,
          " parameter(0)\n i = s32[] get-tuple-element(p), index=0\n x = f32[] "
          "get-tuple-element(p), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
          " c = f32[] constant(0.7)\n y = f32[] multiply(x, c)\n ROOT r = ",
          state, " tuple(j, y) }\n");
  const std::string branches =
      "yes { a = (f32[]) parameter(0)\n x = f32[] get-tuple-element(a), index=0\n"
      " y = f32[] negate(x)\n ROOT r = (f32[], f32[]) tuple(y, x) }\n"
      "no { a = (f32[]) parameter(0)\n x = f32[] get-tuple-element(a), index=0\n"
      " ROOT r = (f32[], f32[]) tuple(x, x) }\n";
  const std::string both =
      "both { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n"
      " d = f32[] parameter(3)\n e = f32[] add(a, c)\n f = f32[] maximum(b, d)\n"
      " ROOT r = (f32[], f32[]) tuple(e, f) }\n";
  const std::string rest =
      " v = f32[] get-tuple-element(w), index=1\n y = f32[] tanh(v)\n c = f32[] constant(0.25)\n"
      " g = f32[] add(v, c)\n";
  for (const auto& [called, lines] :
       {std::pair{more, cat(" q = ", state, " tuple(zero, h)\n w = ", state,
                            " while(q), condition=more, body=next\n")},
        std::pair{branches, std::string(" t = pred[] compare(h, x), direction=LT\n"
                                        " q = (f32[]) tuple(h)\n w = (f32[], f32[]) conditional("
                                        "t, q, q), true_computation=yes, false_computation=no\n")},
        std::pair{both, std::string(" b = f32[3] broadcast(h), dimensions={}\n z = f32[] "
                                    "constant(0)\n w = (f32[], f32[]) reduce(b, b, z, z), "
                                    "dimensions={0}, to_apply=both\n")}}) {
    const std::string module = text({.row = "", .lines = lines + rest, .called = called});
    SCOPED_TRACE(module);
    expect_as_evaluated(module, {.ulp = 8, .share = 1e-5});
  }
}

TEST(LoopDistribution, WhatMovesFollowsNothingInTheLoop) {
  expect_as_evaluated(
      text({.lines = " t = ROW tanh(h)\n k = ROW iota(), iota_dimension=0, "
                     "control-predecessors={t}\n ks = f32[70,3] iota(), iota_dimension=0, "
                     "control-predecessors={t}\n k1 = f32[1,3] dynamic-slice(ks, i, zero), "
                     "dynamic_slice_sizes={1,3}\n k3 = ROW reshape(k1)\n e = ROW sine(k3), "
                     "control-predecessors={t}\n y = ROW add(e, t)\n g = ROW add(t, e)\n"}),
      {.ulp = 8, .share = 1e-5});
}

// A counter of one byte, at its limit.
TEST(LoopDistribution, CountersOfAnyTypeCount) {
  for (const auto& [type, turns] :
       {std::pair{"u8", 255}, {"s8", 127}, {"s64", 100}, {"u32", 100}}) {
    std::string module = text({.turns = turns, .rows = turns, .lines = kAll});
    for (size_t at = 0; (at = module.find("s32", at)) != std::string::npos;)
      module.replace(at, 3, type);
    SCOPED_TRACE(module);
    expect_as_evaluated(module, {.ulp = 8, .share = 1e-5});
  }
}

TEST(LoopDistribution, ProductsOverNothingAreZero) {
  for (const char* rows : {"x", "h"})
    expect_as_evaluated(
        text({.lines = cat(" z = f32[0] slice(", rows,
                           "), slice={[0:0]}\n k = f32[0,3] iota(), iota_dimension=1\n"
                           " d = ROW dot(z, k), lhs_contracting_dims={0}, rhs_contracting_dims={0}"
                           "\n e = ROW sine(h)\n g = ROW add(e, x)\n y = ROW add(d, g)\n")}),
        {.ulp = 8, .share = 1e-5});
}

TEST(LoopDistribution, LoopsInLoopsHaveTheirOwn) {
  const auto inside = [](std::string inner) {
    const size_t entry = inner.find("ENTRY main");
    std::string outer = inner.substr(entry);
    inner.replace(entry, 10, "twice");
    return cat(inner, R"(
next { s = (s32[], f32[3], f32[70,3], f32[70,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  h = f32[3] get-tuple-element(s), index=1
  xs = f32[70,3] get-tuple-element(s), index=2
  ys = f32[70,3] get-tuple-element(s), index=3
  c = (f32[3], f32[70,3]) call(h, xs, ys), to_apply=twice
  g = f32[3] get-tuple-element(c), index=0
  zs = f32[70,3] get-tuple-element(c), index=1
  ROOT r = (s32[], f32[3], f32[70,3], f32[70,3]) tuple(j, g, zs, xs) }
more { s = (s32[], f32[3], f32[70,3], f32[70,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
ENTRY main { h = f32[3] parameter(0)
  xs = f32[70,3] parameter(1)
  ys = f32[70,3] parameter(2)
  i = s32[] constant(0)
  init = (s32[], f32[3], f32[70,3], f32[70,3]) tuple(i, h, xs, ys)
  ROOT l = (s32[], f32[3], f32[70,3], f32[70,3]) while(init), condition=more, body=next }
)");
  };
  expect_as_evaluated(inside(text({.lines = " e = ROW tanh(x)\n g = ROW multiply(h, e)\n"
                                            " y = ROW sine(g)\n"})),
                      {.ulp = 8, .share = 1e-5});
}

}  // namespace
}  // namespace heddle::cpu
