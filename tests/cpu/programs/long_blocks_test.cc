// Blocks that become several functions: values of every kind go from one to the next.
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr const char* kCalled =
    "sum { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT c = s32[] add(a, b) }\n"
    "less { s = (s32[], s32[40]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    " n = s32[] constant(3)\n ROOT r = pred[] compare(i, n), direction=LT }\n"
    "turn { s = (s32[], s32[40]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    " x = s32[40] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
    " j = s32[] add(i, one)\n b = s32[40] broadcast(j), dimensions={}\n"
    " y = s32[40] xor(x, b)\n ROOT r = (s32[], s32[40]) tuple(j, y) }\n"
    "left { x = s32[40] parameter(0)\n ROOT y = s32[40] negate(x) }\n"
    "right { x = s32[40] parameter(0)\n ROOT y = s32[40] reverse(x), dimensions={0} }\n"
    "order { a = s32[] parameter(0)\n b = s32[] parameter(1)\n"
    " ROOT c = pred[] compare(a, b), direction=LT }\n";

// Lines that make x<n>, s32[40], i<n>, s32[], p<n>, pred[], and f<n>, f32[20], from those of 0.
std::string steps(int count) {
  std::string out = " z = s32[] constant(0)\n one = s32[] constant(1)\n";
  for (int k = 1; k <= count; ++k) {
    const int was = k - 1, older = k < 9 ? 0 : k - 9;
    const std::string x = cat(" x", k, " = s32[40] "), from = cat("x", was);
    switch (k % 8) {
      case 0: out += x + cat("dynamic-update-slice(", from, ", u, i", older, ")\n"); break;
      case 1: out += x + cat("add(", from, ", x", older, ")\n"); break;
      case 2: out += x + cat("select(q", older / 8, ", ", from, ", x", older, ")\n"); break;
      case 3:
        out += cat(" s", k, " = (s32[], s32[40]) tuple(z, ", from, ")\n w", k,
                   " = (s32[], s32[40]) while(s", k, "), condition=less, body=turn\n", x,
                   "get-tuple-element(w", k, "), index=1\n");
        break;
      case 4:
        out += x + cat("conditional(p", was, ", ", from, ", x", older,
                       "), true_computation=left, false_computation=right\n");
        break;
      case 5: out += x + cat("sort(", from, "), dimensions={0}, to_apply=order\n"); break;
      case 6: out += x + cat("multiply(", from, ", x", older, ")\n"); break;
      default: out += x + cat("reverse(", from, "), dimensions={0}\n");
    }
    out += cat(" r", k, " = s32[] reduce(x", k, ", z), dimensions={0}, to_apply=sum\n i", k,
               " = s32[] xor(r", k, ", i", older, ")\n p", k, " = pred[] compare(i", k, ", i", was,
               "), direction=LT\n f", k, " = f32[20] add(f", was, ", f", older, ")\n");
    if (k % 8 == 0)
      out += cat(" q", k / 8, " = pred[40] compare(x", k, ", x", older, "), direction=GT\n");
  }
  return out;
}

std::string results(int count) {
  return cat("(s32[40], s32[], pred[], f32[20]) tuple(x", count, ", i", count, ", p", count, ", f",
             count, ")\n");
}

TEST(CpuLongBlocks, OfTheProgram) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  constexpr int kSteps = 400;
  const std::string text =
      cat("HloModule m\n", kCalled,
          "ENTRY e { x0 = s32[40] parameter(0)\n i0 = s32[] parameter(1)\n"
          " p0 = pred[] parameter(2)\n f0 = f32[20] parameter(3)\n u = s32[3] parameter(4)\n"
          " q0 = pred[40] parameter(5)\n",
          steps(kSteps), " ROOT r = ", results(kSteps), "}\n");
  expect_as_evaluated(text);
  const auto stages = stages_of(hlo::parse_text(text).value());
  ASSERT_TRUE(stages.ok()) << stages.status();
  EXPECT_NE(stages->llvm.find("define internal i64 @piece"), std::string::npos);
  const size_t begin = stages->llvm.find("@heddle_entry");
  const std::string entry = stages->llvm.substr(begin, stages->llvm.find("\n}", begin) - begin);
  EXPECT_EQ(entry.find("load ptr"), std::string::npos) << "pieces read addresses themselves";
}

TEST(CpuLongBlocks, OfALoop) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  constexpr int kSteps = 800;
  const std::string state = "(s32[], s32[40], s32[], pred[], f32[20], s32[3], pred[40])";
  const auto element = [](const char* name, const char* type, int index) {
    return cat(" ", name, " = ", type, " get-tuple-element(t), index=", index, "\n");
  };
  const std::string text = cat(
      "HloModule m\n", kCalled, "cond { t = ", state, " parameter(0)\n", element("k", "s32[]", 0),
      " n = s32[] constant(3)\n ROOT r = pred[] compare(k, n), direction=LT }\n",
      "body { t = ", state, " parameter(0)\n", element("k", "s32[]", 0),
      element("x0", "s32[40]", 1), element("i0", "s32[]", 2), element("p0", "pred[]", 3),
      element("f0", "f32[20]", 4), element("u", "s32[3]", 5), element("q0", "pred[40]", 6),
      steps(kSteps), " next = s32[] add(k, one)\n ROOT r = ", state, " tuple(next, x", kSteps,
      ", i", kSteps, ", p", kSteps, ", f", kSteps, ", u, q0) }\n",
      "ENTRY e { k = s32[] constant(0)\n x = s32[40] parameter(0)\n i = s32[] parameter(1)\n"
      " p = pred[] parameter(2)\n f = f32[20] parameter(3)\n u = s32[3] parameter(4)\n"
      " q = pred[40] parameter(5)\n s = ",
      state, " tuple(k, x, i, p, f, u, q)\n ROOT w = ", state,
      " while(s), condition=cond, body=body }\n");
  expect_as_evaluated(text);
  const auto stages = stages_of(hlo::parse_text(text).value());
  ASSERT_TRUE(stages.ok()) << stages.status();
  EXPECT_NE(stages->llvm.find("define internal i64 @piece"), std::string::npos);
}

// Work enough for threads, but too long for one function: it becomes pieces, and is not shared.
TEST(CpuLongBlocks, OfALoopThatThreadsWouldShare) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  std::string text = "HloModule m\nENTRY main {\n x0 = f32[200] parameter(0)\n";
  constexpr int kSteps = 300;
  for (int k = 0; k < kSteps; ++k)
    text += cat(k + 1 == kSteps ? " ROOT x" : " x", k + 1, " = f32[200] ",
                k % 2 == 0 ? "sine" : "cosine", "(x", k, ")\n");
  const auto stages = stages_of(hlo::parse_text(text + "}\n").value());
  ASSERT_TRUE(stages.ok());
  EXPECT_NE(stages->llvm.find("define internal i64 @piece"), std::string::npos);
  EXPECT_EQ(stages->llvm.find("@part"), std::string::npos);  // what threads take a range of
}

// Scalars before a barrier and scalars behind it are of one form, and in no vector together.
TEST(CpuLongBlocks, ScalarsBehindABarrierComeLater) {
  expect_as_evaluated(R"(HloModule m
ENTRY e {
  p0 = f64[] parameter(0)
  p1 = f64[] parameter(1)
  p2 = f64[] parameter(2)
  p3 = f64[] parameter(3)
  y0 = f64[] multiply(p0, p0)
  y1 = f64[] multiply(p1, p1)
  y2 = f64[] multiply(p2, p2)
  y3 = f64[] multiply(p3, p3)
  t = (f64[], f64[], f64[], f64[]) tuple(y0, y1, y2, y3)
  b = (f64[], f64[], f64[], f64[]) opt-barrier(t)
  g0 = f64[] get-tuple-element(b), index=0
  g1 = f64[] get-tuple-element(b), index=1
  g2 = f64[] get-tuple-element(b), index=2
  g3 = f64[] get-tuple-element(b), index=3
  z0 = f64[] multiply(g0, g0)
  z1 = f64[] multiply(g1, g1)
  z2 = f64[] multiply(g2, g2)
  z3 = f64[] multiply(g3, g3)
  ROOT r = (f64[], f64[], f64[], f64[]) tuple(z0, z1, z2, z3)
})");
}

}  // namespace
}  // namespace heddle::cpu
