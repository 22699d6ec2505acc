// Loops that read slices of complex arrays.
#include "heddle/cpu/rewrites/numbers/complex_views.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// A loop of 6 turns over (k, total, xs) whose lines make `next` of the total and of `x`, row k of
// xs, which `passed` is in the next turn.
std::string loop_of(const std::string& type, const std::string& lines,
                    const std::string& passed = "xs", const std::string& root = "total") {
  const std::string state = cat("(s32[], ", type, "[5], ", type, "[6,5])");
  const std::string shape = root == "total" ? cat(type, "[5]") : cat(type, "[6,5]");
  return cat("HloModule m\ncond { s = ", state,
             " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n n = s32[] constant(6)\n"
             " ROOT r = pred[] compare(k, n), direction=LT }\nbody { s = ",
             state, " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n total = ", type,
             "[5] get-tuple-element(s), index=1\n xs = ", type,
             "[6,5] get-tuple-element(s), index=2\n one = s32[] constant(1)\n"
             " after = s32[] add(k, one)\n zero = s32[] constant(0)\n row = ",
             type, "[1,5] dynamic-slice(xs, k, zero), dynamic_slice_sizes={1,5}\n x = ", type,
             "[5] reshape(row)\n", lines, " ROOT r = ", state, " tuple(after, next, ", passed,
             ") }\nENTRY main {\n start = ", type, "[5] parameter(0)\n xs = ", type,
             "[6,5] parameter(1)\n k = s32[] constant(0)\n init = ", state,
             " tuple(k, start, xs)\n w = ", state,
             " while(init), condition=cond, body=body\n total = ", type,
             "[5] get-tuple-element(w), index=1\n rows = ", type,
             "[6,5] get-tuple-element(w), index=2\n ROOT y = ", shape, " copy(", root, ") }");
}

// Bytes of the program's own memory.
int64_t arena_of(const std::string& text) {
  const std::string plan = stages_of(hlo::parse_text(text).value()).value().plan;
  const std::string word = "arena ";
  return std::stoll(plan.substr(plan.find(word) + word.size()));
}

TEST(ComplexViews, OfWhatTurnsSlice) {
  for (const std::string type : {"c64", "c128"}) {
    const std::string sum =
        cat(" p = ", type, "[5] multiply(total, x)\n next = ", type, "[5] add(p, x)\n");
    expect_as_evaluated(loop_of(type, sum), {.share = 1e-5});
    // One part alone, two rows, and the last element of each.
    const std::string part = type == "c64" ? "f32" : "f64";
    expect_as_evaluated(loop_of(type, cat(" i = ", part, "[5] imag(x)\n c = ", type,
                                          "[5] convert(i)\n next = ", type, "[5] add(total, c)\n")),
                        {.share = 1e-5});
    expect_as_evaluated(
        loop_of(type, cat(" more = ", type,
                          "[2,5] dynamic-slice(xs, after, zero), "
                          "dynamic_slice_sizes={2,5}\n last = ",
                          type, "[1,5] slice(more), slice={[1:2], [0:5]}\n y = ", type,
                          "[5] reshape(last)\n p = ", type, "[5] subtract(x, y)\n next = ", type,
                          "[5] add(total, p)\n")),
        {.share = 1e-5});
    // An array that is read as a whole, or that changes, or that is a result, stays in parts.
    expect_as_evaluated(loop_of(type, cat(" all = ", type, "[6,5] negate(xs)\n two = ", type,
                                          "[1,5] slice(all), slice={[2:3], [0:5]}\n y = ", type,
                                          "[5] reshape(two)\n p = ", type,
                                          "[5] add(x, y)\n next = ", type, "[5] add(total, p)\n")),
                        {.share = 1e-5});
    expect_as_evaluated(
        loop_of(type,
                cat(" new = ", type, "[6,5] negate(xs)\n next = ", type, "[5] add(total, x)\n"),
                "new"),
        {.share = 1e-5});
    expect_as_evaluated(loop_of(type, cat(" next = ", type, "[5] add(total, x)\n"), "xs", "rows"));
  }
}

TEST(ComplexViews, MakeNoPartsOfTheWholeArray) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const std::string state = "(s32[], (f32[6,5], f32[6,5]))";
  const std::string flat =
      cat("HloModule m\ncond { s = ", state,
          " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n n = s32[] constant(6)\n"
          " ROOT r = pred[] compare(k, n), direction=LT }\nbody { s = ",
          state,
          " parameter(0)\n k = s32[] get-tuple-element(s), index=0\n"
          " xs = (f32[6,5], f32[6,5]) get-tuple-element(s), index=1\n"
          " im = f32[6,5] get-tuple-element(xs), index=1\n one = s32[] constant(1)\n"
          " after = s32[] add(k, one)\n zero = s32[] constant(0)\n"
          " row = f32[1,5] dynamic-slice(im, k, zero), dynamic_slice_sizes={1,5}\n ROOT r = ",
          state,
          " tuple(after, xs) }\nENTRY main { x = c64[6,5] parameter(0)\n"
          " re = f32[6,5] real(x)\n im = f32[6,5] imag(x)\n k = s32[] constant(0)\n"
          " both = (f32[6,5], f32[6,5]) tuple(re, im)\n init = ",
          state, " tuple(k, both)\n w = ", state,
          " while(init), condition=cond, body=body\n"
          " ROOT n = s32[] get-tuple-element(w), index=0 }");
  const hlo::Module now = view_complex_inputs(hlo::parse_text(flat).value()).value();
  EXPECT_NE(hlo::print(now).find("f32[6,5,2]"), std::string::npos) << hlo::print(now);
  std::string text = loop_of("c64", " next = c64[5] multiply(total, x)\n");
  for (size_t at = 0; (at = text.find("[6,5]", at)) != std::string::npos;)
    text.replace(at, 5, "[600,5]");
  EXPECT_LT(arena_of(text), 600 * 5 * 4) << "which one part of the array would take";
}

}  // namespace
}  // namespace heddle::cpu
