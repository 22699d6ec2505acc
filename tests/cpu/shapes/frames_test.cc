// Updates of most of an array at a known place: what lies around the part is written by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/lower/lower.h"
#include "heddle/cpu/rewrites/indexing/fixed_scatters.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// x: f32[8,9] with u scattered into it at `index`, by a function (old, new).
std::string scatter(const std::string& index, const std::string& u, const std::string& attrs,
                    const std::string& by = "ROOT r = f32[] add(a, b)") {
  return cat("HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ", by,
             " }\nENTRY main { x = f32[8,9] parameter(0)\n u = ", u, " parameter(1)\n i = ", index,
             "\n ROOT s = f32[8,9] scatter(x, i, u), ", attrs, ", to_apply=f }\n");
}
const std::string kWindow =
    "update_window_dims={0,1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, "
    "index_vector_dim=0";

bool is_update(const std::string& text) {
  const hlo::Module module = update_fixed_scatters(hlo::parse_text(text).value()).value();
  return module.entry_computation().root_instruction().opcode == hlo::Opcode::kDynamicUpdateSlice;
}

TEST(CpuFixedScatters, BecomeUpdates) {
  const std::string one = "s32[2] constant({1, 1})";
  for (const char* by : {"ROOT r = f32[] add(a, b)", "ROOT r = f32[] subtract(b, a)",
                         "ROOT r = f32[] maximum(a, b)"}) {
    const auto text = scatter(one, "f32[6,7]", kWindow, by);
    EXPECT_TRUE(is_update(text)) << text;
    expect_as_evaluated(text);
  }
  const auto set = cat("HloModule m\nf { a = f32[] parameter(0)\n ROOT b = f32[] parameter(1) }\n",
                       "ENTRY main { x = f32[8,9] parameter(0)\n u = f32[6,7] parameter(1)\n"
                       " c = s64[] constant(2)\n i = s64[2] broadcast(c), dimensions={}\n"
                       " ROOT s = f32[8,9] scatter(x, i, u), ",
                       kWindow, ", to_apply=f }\n");
  EXPECT_TRUE(is_update(set));
  expect_as_evaluated(set);
  const auto row = scatter("s32[1,1] constant({{7}})", "f32[1,9]",
                           "update_window_dims={1}, inserted_window_dims={0}, "
                           "scatter_dims_to_operand_dims={0}, index_vector_dim=1");
  EXPECT_TRUE(is_update(row));
  expect_as_evaluated(row);
}

TEST(CpuFixedScatters, OthersStay) {
  for (const auto& text : {
           scatter("s32[2] constant({3, 1})", "f32[6,7]", kWindow),  // does not fit: it is left out
           scatter("s32[2] constant({-1, 1})", "f32[6,7]", kWindow),
           scatter("s32[2] parameter(2)", "f32[6,7]", kWindow),
           scatter("s32[2] constant({1, 1})", "f32[6,7]", kWindow,
                   "t = f32[] add(a, b)\n ROOT r = f32[] multiply(t, t)"),
           scatter("s32[2] constant({1, 1})", "f32[0,7]", kWindow),
           // Several windows whose indices have no numbers: all are at 0.
           scatter("s32[3,0] constant({{}, {}, {}})", "f32[6,7,3]",
                   "update_window_dims={0,1}, inserted_window_dims={}, "
                   "scatter_dims_to_operand_dims={}, index_vector_dim=1"),
           scatter("s32[2,1] constant({{7}, {7}})", "f32[2,9]",
                   "update_window_dims={1}, inserted_window_dims={0}, "
                   "scatter_dims_to_operand_dims={0}, index_vector_dim=1"),
       }) {
    EXPECT_FALSE(is_update(text)) << text;
    expect_as_evaluated(text);
  }
}

// A loop of 200 turns over (k, x, y: f32[64,48]); `lines` make p and q of them.
std::string loop(const std::string& lines, int turns = 200) {
  const std::string state = "(s32[], f32[64,48], f32[64,48])";
  return cat("HloModule m\ncond { s = ", state,
             " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n n = s32[] constant(", turns,
             ")\n ROOT r = pred[] compare(k, n), direction=LT }\nbody { s = ", state,
             " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n"
             " x = f32[64,48] get-tuple-element(s), index=1\n"
             " y = f32[64,48] get-tuple-element(s), index=2\n one = s32[] constant(1)\n"
             " next = s32[] add(k, one)\n zero = f32[] constant(0)\n"
             " zeros = f32[64,48] broadcast(zero), dimensions={}\n"
             " up = f32[62,46] slice(x), slice={[0:62],[1:47]}\n"
             " left = f32[62,46] slice(x), slice={[1:63],[0:46]}\n"
             " mid = f32[62,46] slice(x), slice={[1:63],[1:47]}\n"
             " old = f32[62,46] slice(y), slice={[1:63],[1:47]}\n"
             " c = f32[] constant(0.25)\n cs = f32[62,46] broadcast(c), dimensions={}\n"
             " around = f32[62,46] add(up, left)\n part = f32[62,46] multiply(around, cs)\n",
             lines, " ROOT r = ", state, " tuple(next, p, q) }\nENTRY main { x = f32[64,48]",
             " parameter(0)\n y = f32[64,48] parameter(1)\n k = s32[] constant(0)\n init = ", state,
             " tuple(k, x, y)\n w = ", state, " while(init), condition=cond, body=body\n",
             " a = f32[64,48] get-tuple-element(w), index=1\n",
             " b = f32[64,48] get-tuple-element(w), index=2\n",
             " ROOT r = (f32[64,48], f32[64,48]) tuple(a, b) }\n");
}
int64_t copies(const std::string& text) {
  const Plan plan =
      lower(hlo::parse_text(text).value(), /*vector_bytes=*/64, /*as_lapack=*/false).value().plan;
  return std::ranges::count(plan.nodes, Op::kCopy, &Node::op);
}
const std::string kUpdate = " = f32[64,48] dynamic-update-slice(";

// Both arguments are copied before the loop, and nothing is in it.
TEST(CpuFrames, ALoopCopiesNoFramedArray) {
  const std::string heat = cat(" p", kUpdate, "x, part, one, one)\n q = f32[64,48] copy(y)\n");
  const std::string wave = cat(" d = f32[62,46] subtract(part, old)\n p", kUpdate,
                               "zeros, d, one, one)\n q = f32[64,48] copy(x)\n");
  const std::string padded =
      " d = f32[62,46] subtract(part, old)\n"
      " p = f32[64,48] pad(d, zero), padding=1_1x1_1\n q = f32[64,48] copy(x)\n";
  for (const auto& lines : {heat, wave, padded}) {
    EXPECT_EQ(copies(loop(lines)), 2) << lines;
    expect_as_evaluated(loop(lines));
    expect_as_evaluated(loop(lines, 201));
    expect_as_evaluated(loop(lines, 3));
  }
}

// The old array of another place may not be overwritten.
TEST(CpuFrames, WhatIsReadElsewhereIsNotOverwritten) {
  const std::string two = "two = s32[] constant(2)\n";
  for (const std::string& lines : {
           cat(two, " d = f32[62,46] subtract(part, old)\n p", kUpdate,
               "zeros, d, two, two)\n q = f32[64,48] copy(x)\n"),
           cat(" e = f32[64,48] add(y, y)\n p", kUpdate, "e, old, one, one)\n q", kUpdate,
               "p, mid, one, one)\n"),
           cat(" d = f32[62,46] add(part, mid)\n p", kUpdate, "x, d, one, one)\n q", kUpdate,
               "y, d, k, one)\n"),
           cat(" n = f32[62,46] multiply(mid, mid)\n p", kUpdate, "x, n, one, one)\n q", kUpdate,
               "y, old, one, k)\n"),
           cat(two,
               " p = f32[64,48] pad(old, zero), padding=2_0x2_0\n"
               " q = f32[64,48] add(p, y)\n"),
       })
    expect_as_evaluated(loop(lines, 5));
}

// A part that reaches an edge, and arrays with other ranks.
TEST(CpuFrames, AreAsEvaluated) {
  const auto update = [](const std::string& of, const std::string& part, const std::string& starts,
                         const std::string& x = "x") {
    return cat(
        "HloModule m\nENTRY main { x = ", of, " parameter(0)\n y = ", part,
        " parameter(1)\n twice = ", of, " add(x, x)\n zero = s32[] constant(0)\n",
        " five = s32[] constant(5)\n many = s32[] constant(4000)\n less = s32[] constant(-9)",
        "\n u = ", of, " dynamic-update-slice(", x, ", y, ", starts, ")\n ROOT r = (", of, ", ", of,
        ") tuple(u, x) }\n");
  };
  for (const char* x : {"x", "twice"}) {
    expect_as_evaluated(update("f32[3000]", "f32[2995]", "five", x));
    expect_as_evaluated(update("f32[3000]", "f32[2995]", "many", x));
    expect_as_evaluated(update("f32[3000]", "f32[2995]", "less", x));
    expect_as_evaluated(update("f64[9,7,40]", "f64[4,7,40]", "five, zero, zero", x));
    expect_as_evaluated(update("f64[9,7,40]", "f64[9,7,35]", "zero, zero, five", x));
    expect_as_evaluated(update("bf16[40,70]", "bf16[30,60]", "five, five", x));
    expect_as_evaluated(update("s8[100,70]", "s8[90,60]", "five, five", x));
    expect_as_evaluated(update("c64[40,70]", "c64[30,60]", "five, five", x));
  }
}

// f32[r,c] rolled by `by` along `dim`, as JAX writes it.
std::string rolled(const std::string& name, const std::string& x, int dim, int by, int r, int c) {
  const int n = dim == 0 ? r : c;
  const auto part = [&](const char* suffix, int from, int to) {
    const int rows = dim == 0 ? to - from : r, columns = dim == 1 ? to - from : c;
    const auto range = [&](int d, int all) {
      return d == dim ? cat("[", from, ":", to, "]") : cat("[0:", all, "]");
    };
    return cat(" ", name, suffix, " = f32[", rows, ",", columns, "] slice(", x, "), slice={",
               range(0, r), ",", range(1, c), "}\n");
  };
  return cat(part("a", n - by, n), part("b", 0, n - by), " ", name, " = f32[", r, ",", c,
             "] concatenate(", name, "a, ", name, "b), dimensions={", dim, "}\n");
}
std::string sum_of_rolls(int r, int c, const std::string& more = "") {
  const std::string type = cat("f32[", r, ",", c, "]");
  std::string text =
      cat("HloModule m\nENTRY main { x = ", type, " parameter(0)\n y = ", type, " parameter(1)\n");
  text += rolled("up", "x", 0, 1, r, c) + rolled("down", "x", 0, r - 1, r, c) +
          rolled("left", "y", 1, 3, r, c) + rolled("right", "x", 1, c - 1, r, c);
  for (const auto& [name, of] : {std::pair("s", "up, down"), std::pair("t", "left, right"),
                                 std::pair("u", "s, t"), std::pair("v", "u, y")})
    text += cat(" ", name, " = ", type, " ", name[0] == 't' ? "subtract" : "add", "(", of, ")\n");
  return cat(text, more.empty() ? cat(" ROOT r = ", type, " multiply(v, x)") : more, " }\n");
}

// Joined arrays need no place of their own: the result is written box by box.
TEST(CpuBoxes, JoinedArraysAreReadPartByPart) {
  const auto buffers = [](const std::string& text) {
    return lower(hlo::parse_text(text).value(), 64, false).value().plan.buffers.size();
  };
  EXPECT_EQ(buffers(sum_of_rolls(40, 50)), 3u);  // x, y and the result
  for (const auto& [r, c] : {std::pair(40, 50), std::pair(2, 700), std::pair(700, 5),
                             std::pair(33, 16), std::pair(5, 4)})
    expect_as_evaluated(sum_of_rolls(r, c));
}

TEST(CpuBoxes, JoinedArraysThatOthersReadTooHaveAPlace) {
  for (const char* more : {
           " w = f32[40,50] multiply(v, x)\n ROOT r = (f32[40,50], f32[40,50]) tuple(w, up)",
           " d = f32[40,40] dot(up, v), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
           " ROOT r = (f32[40,50], f32[40,40]) tuple(v, d)",
           " h = f32[50,40] transpose(v), dimensions={1,0}\n ROOT r = f32[50,40] negate(h)",
           " z = f32[] constant(0)\n i = s32[] constant(2)\n"
           " l = f32[36,50] slice(v), slice={[3:39],[0:50]}\n"
           " ROOT r = f32[40,50] dynamic-update-slice(x, l, i, i)",
           " e = f32[41,50] concatenate(v, upa), dimensions={0}\n ROOT r = f32[41,50] negate(e)",
       })
    expect_as_evaluated(sum_of_rolls(40, 50, more));
}

// Several parts, of none or one element too, of several types; and what a part is computed from.
TEST(CpuBoxes, AreAsEvaluated) {
  for (const char* type : {"f64", "s32", "bf16", "u8", "c64"}) {
    const auto of = [&](int n) { return cat(type, "[", n, ",60]"); };
    expect_as_evaluated(cat("HloModule m\nENTRY main { a = ", of(0), " parameter(0)\n b = ", of(1),
                            " parameter(1)\n c = ", of(50), " parameter(2)\n x = ", of(70),
                            " parameter(3)\n cc = ", of(50), " multiply(c, c)\n d = ", of(19),
                            " slice(x), slice={[0:19],[0:60]}\n j = ", of(70),
                            " concatenate(a, b, cc, a, d, a), dimensions={0}\n j2 = ", of(70),
                            " concatenate(cc, b, d), dimensions={0}\n s = ", of(70),
                            " add(j, x)\n ROOT r = ", of(70), " multiply(s, j2) }\n"));
  }
}

// Of two parts along rows, each row is one of theirs; also where a box has one column.
TEST(CpuBoxes, RowsOfTwoArrays) {
  for (const char* type : {"f32", "f64", "s32", "bf16", "u8"}) {
    const auto of = [&](int n) { return cat(type, "[", n, ",60]"); };
    expect_as_evaluated(cat("HloModule m\nENTRY main { a = ", of(50),
                            " parameter(0)\n b = ", of(20), " parameter(1)\n x = ", of(70),
                            " parameter(2)\n aa = ", of(50), " multiply(a, a)\n j = ", of(70),
                            " concatenate(aa, b), dimensions={0}\n l = ", type,
                            "[70,1] slice(x), slice={[0:70],[59:60]}\n r = ", type,
                            "[70,59] slice(x), slice={[0:70],[0:59]}\n k = ", of(70),
                            " concatenate(l, r), dimensions={1}\n s = ", of(70),
                            " add(j, k)\n ROOT t = ", of(70), " multiply(s, x) }\n"));
  }
}

// In a loop: the old array is not overwritten where it is still read.
TEST(CpuBoxes, RollsInLoops) {
  const std::string rolls = rolled("up2", "x", 0, 1, 64, 48) + rolled("left2", "x", 1, 1, 64, 48) +
                            rolled("of_y", "y", 1, 47, 64, 48);
  const auto lines = [&](const char* p, const char* q) {
    return cat(rolls,
               " e = f32[64,48] add(up2, left2)\n f = f32[64,48] subtract(e, of_y)\n p = ", p,
               "\n q = ", q, "\n");
  };
  for (const auto& text : {
           lines("f32[64,48] subtract(e, y)", "f32[64,48] copy(x)"),
           lines("f32[64,48] subtract(f, x)", "f32[64,48] add(y, y)"),
           lines("f32[64,48] copy(f)", "f32[64,48] subtract(y, f)"),
       })
    expect_as_evaluated(loop(text, 9));
}

}  // namespace
}  // namespace heddle::cpu
