#include "heddle/cpu/rewrites/shapes/late_repeats.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"

namespace heddle::cpu {
namespace {

// The elements that the root's operand, before it is repeated, has; 0: the module stays.
int64_t elements_before(const std::string& lines) {
  const hlo::Module module =
      hlo::parse_text(base::cat("HloModule m\nENTRY main {\n x = f32[3,5] parameter(0)\n"
                                " y = f32[3,10] parameter(1)\n"
                                " b = f32[3,2,5] broadcast(x), dimensions={0,2}\n"
                                " r = f32[3,10] reshape(b)\n"
                                " two = f32[] constant(2)\n"
                                " twos = f32[3,10] broadcast(two), dimensions={}\n",
                                lines, "}\n"))
          .value();
  const auto late = repeat_late(module).value();
  if (!late) return 0;
  const hlo::Computation& in = late->entry_computation();
  const hlo::Instruction& root = in.root_instruction();
  EXPECT_EQ(root.opcode, hlo::Opcode::kReshape);
  return in.at(in.at(root.operands[0]).operands[0]).shape.element_count();
}

TEST(LateRepeats, ComeAfterWhatIsComputedOfThem) {
  EXPECT_EQ(elements_before(" ROOT z = f32[3,10] multiply(r, twos)\n"), 15);
  EXPECT_EQ(elements_before(" m = f32[3,10] multiply(r, twos)\n n = f32[3,10] negate(m)\n"
                            " ROOT z = f32[3,10] add(n, r)\n"),
            15);
}

// r is f32[3,(2,5)]: what a sum over the 2 has is no longer repeated.
TEST(LateRepeats, SumsOfThemAreSumsOfEqualTerms) {
  const hlo::Module module =
      hlo::parse_text(
          "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
          " ROOT c = f32[] add(a, b) }\nENTRY main {\n x = f32[3,5] parameter(0)\n"
          " b = f32[3,3,5] broadcast(x), dimensions={0,2}\n r = f32[9,5] reshape(b)\n"
          " zero = f32[] constant(0)\n s = f32[3,3,5] reshape(r)\n"
          " ROOT t = f32[3,5] reduce(s, zero), dimensions={1}, to_apply=add\n}\n")
          .value();
  const auto late = repeat_late(module).value();
  ASSERT_TRUE(late);
  int64_t sums = 0;
  for (const hlo::Instruction& instruction : late->entry_computation().instructions) {
    EXPECT_NE(instruction.opcode, hlo::Opcode::kReduce);
    sums += instruction.opcode == hlo::Opcode::kAdd;
  }
  EXPECT_EQ(sums, 3);
}

TEST(LateRepeats, StayBesideOtherArrays) {
  EXPECT_EQ(elements_before(" ROOT z = f32[3,10] add(r, y)\n"), 0);
  EXPECT_EQ(elements_before(" c = f32[3,5,2] broadcast(x), dimensions={0,1}\n"
                            " s = f32[3,10] reshape(c)\n ROOT z = f32[3,10] add(r, s)\n"),
            0);
  EXPECT_EQ(elements_before(" ROOT z = f32[3,10] add(y, twos)\n"), 0);
}

}  // namespace
}  // namespace heddle::cpu
