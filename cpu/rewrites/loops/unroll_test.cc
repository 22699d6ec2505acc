#include "heddle/cpu/rewrites/loops/unroll.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/transform/pass.h"

namespace heddle::cpu {
namespace {

using base::cat;

// while (i < turns) of (i, x, k): the body's lines make y and l of x and k.
hlo::Module loop(int turns, int size, const std::string& lines) {
  const std::string array = cat("f32[", size, "]"), state = cat("(s32[], ", array, ", f32[3])");
  return hlo::parse_text(
             cat("HloModule m\n", "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n",
                 " ROOT r = f32[] add(a, b) }\n", "cond { s = ", state,
                 " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(",
                 turns, ")\n ROOT r = pred[] compare(i, n), direction=LT }\n", "body { s = ", state,
                 " parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = ", array,
                 " get-tuple-element(s), index=1\n k = f32[3] get-tuple-element(s), index=2\n",
                 " one = s32[] constant(1)\n j = s32[] add(i, one)\n", lines, " ROOT r = ", state,
                 " tuple(j, y, l) }\n", "ENTRY main { x = ", array,
                 " parameter(0)\n k = f32[3] parameter(1)\n i = s32[] constant(0)\n init = ", state,
                 " tuple(i, x, k)\n ROOT w = ", state,
                 " while(init), condition=cond, body=body }\n"))
      .value();
}

// 0: the loop is left as it was.
int64_t calls(const hlo::Module& module) {
  const auto unrolled = unroll_short_loops(module).value();
  if (!unrolled) return 0;
  return std::ranges::count(unrolled->entry_computation().instructions, hlo::Opcode::kCall,
                            &hlo::Instruction::opcode);
}

const std::string kScaled =
    " a = f32[1] slice(k), slice={[1:2]}\n b = f32[] reshape(a)\n"
    " c = f32[10000] broadcast(b), dimensions={}\n y = f32[10000] multiply(x, c)\n"
    " l = f32[3] negate(k)\n";

TEST(UnrollShortLoops, ShortElementwiseLoopsBecomeCalls) {
  EXPECT_EQ(calls(loop(5, 10000, kScaled)), 5);
}

TEST(UnrollShortLoops, LongLoopsStay) { EXPECT_EQ(calls(loop(100, 10000, kScaled)), 0); }

TEST(UnrollShortLoops, LoopsOfSmallArraysStay) {
  EXPECT_EQ(calls(loop(5, 100, " y = f32[100] negate(x)\n l = f32[3] negate(k)\n")), 0);
}

TEST(UnrollShortLoops, LoopsThatReadOtherElementsStay) {
  EXPECT_EQ(
      calls(loop(5, 10000, " y = f32[10000] reverse(x), dimensions={0}\n l = f32[3] negate(k)\n")),
      0);
  EXPECT_EQ(calls(loop(5, 10000,
                       " y = f32[10000] negate(x)\n z = f32[] constant(0)\n"
                       " t = f32[] reduce(x, z), dimensions={0}, to_apply=sum\n"
                       " l = f32[3] broadcast(t), dimensions={}\n")),
            0);
}

// The loop in the body of another one.
hlo::Module inside(const hlo::Module& module) {
  std::string text = print(module, {.form = hlo::PrintOptions::Form::kShort});
  text.erase(0, text.find('\n'));  // what it says of the entry
  text.erase(text.find("ENTRY "), 6);
  const std::string state = "(s32[], f32[8], f32[3])";
  return hlo::parse_text(cat("HloModule m", text, "again { s = ", state,
                             " parameter(0)\n x = f32[8] get-tuple-element(s), index=1\n",
                             " k = f32[3] get-tuple-element(s), index=2\n ROOT r = ", state,
                             " call(x, k), to_apply=main }\n", "ENTRY around { s = ", state,
                             " parameter(0)\n ROOT w = ", state,
                             " while(s), condition=cond, body=again }\n"))
      .value();
}

TEST(UnrollShortLoops, SmallLoopsInLoopsBecomeCalls) {
  const auto calls_inside = [](int turns, const std::string& lines) {
    const hlo::Module module =
        transform::run_pipeline(inside(loop(turns, 8, lines)), transform::kFlattenPipeline).value();
    const auto unrolled = unroll_short_loops(module).value();
    int64_t calls = 0;
    if (unrolled) {
      for (const hlo::Computation& each : unrolled->computations)
        calls +=
            std::ranges::count(each.instructions, hlo::Opcode::kCall, &hlo::Instruction::opcode);
    }
    return calls;
  };
  const std::string turned = " y = f32[8] reverse(x), dimensions={0}\n l = f32[3] negate(k)\n";
  EXPECT_EQ(calls_inside(3, turned), 3);
  EXPECT_EQ(calls_inside(9, turned), 0);
  EXPECT_EQ(calls_inside(3,
                         " y = f32[8] negate(x)\n z = f32[] constant(0)\n"
                         " t = f32[] reduce(x, z), dimensions={0}, to_apply=sum\n"
                         " l = f32[3] broadcast(t), dimensions={}\n"),
            0);
}

}  // namespace
}  // namespace heddle::cpu
