// What replaces an instruction of a module that is copied.
#include "heddle/transform/rebuilder.h"

#include <gtest/gtest.h>

#include "heddle/hlo/text.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {
namespace {

using hlo::Value;

constexpr char kDoubled[] = R"(HloModule m
ENTRY main {
  x = f32[2,3]{0,1} parameter(0)
  y = f32[2,3]{0,1} negate(x), metadata={op_name="user/negate" source_file="a.py" source_line=7}
  ROOT z = f32[2,3]{0,1} exponential(y)
})";

// The module with write(x) in place of its negation.
template <class Write>
StatusOr<hlo::Module> with_negation_as(const Write& write) {
  const hlo::Module module = hlo::parse_text(kDoubled).value();
  return with_rewritten(module, [&](Rebuilder& to, InstructionId i) {
    if (to.old(i).opcode != Opcode::kNegate) return Value();
    to.in_place_of(i);
    return write(to.operands(i)[0]);
  });
}

const Instruction& only(const hlo::Module& module, Opcode opcode) {
  const auto& all = module.entry_computation().instructions;
  return *std::ranges::find(all, opcode, &Instruction::opcode);
}

TEST(Rebuilder, WhatReplacesAnInstructionHasItsMetadataAndNoLayout) {
  const hlo::Module module = with_negation_as([](const Value& x) { return 0 - x * 1.5; }).value();
  for (Opcode opcode : {Opcode::kSubtract, Opcode::kMultiply, Opcode::kConstant}) {
    EXPECT_EQ(only(module, opcode).extras->metadata.op_name, "user/negate");
    EXPECT_FALSE(only(module, opcode).shape.has_layout());
  }
  EXPECT_EQ(only(module, Opcode::kExp).extras->metadata.op_name, "");
  EXPECT_TRUE(only(module, Opcode::kExp).shape.has_layout());
}

TEST(Rebuilder, RegionsHaveTheMetadataOfTheInstructionThatTheyReplace) {
  const hlo::Module module =
      with_negation_as([](const Value& x) {
        return hlo::repeat(4, {x}, [](auto&, const Value&, const hlo::Values& now) {
          return hlo::Values{now[0] * 2.0};
        })[0];
      }).value();
  int multiplications = 0;
  for (const hlo::Computation& computation : module.computations) {
    for (const Instruction& instruction : computation.instructions) {
      if (instruction.opcode != Opcode::kMultiply) continue;
      ++multiplications;
      EXPECT_EQ(instruction.extras->metadata.op_name, "user/negate");
    }
  }
  EXPECT_EQ(multiplications, 1);
}

TEST(Rebuilder, ReductionsOfAModuleShareTheirCombiner) {
  const hlo::Module module = with_negation_as([](const Value& x) {
                               return x + reduce_sum(x, {0, 1}) + reduce_sum(x, {0, 1});
                             }).value();
  EXPECT_EQ(module.computations.size(), 2u);
}

TEST(Rebuilder, WhatAShapeRuleRefusesIsAnErrorOfTheModule) {
  const auto module = with_negation_as([](const Value& x) { return hlo::reverse(x, {0, 0}); });
  EXPECT_EQ(module.status().code(), StatusCode::kInternal);
  EXPECT_EQ(module.status().message(),
            "bug in heddle: reverse: dimensions has 0 twice; each dimension may stand once");
}

}  // namespace
}  // namespace heddle::transform
