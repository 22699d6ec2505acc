// The limit of inline; what it does below that is in tests/golden/inline.
#include <gtest/gtest.h>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/transform/internal/ir.h"
#include "heddle/transform/passes.h"

namespace heddle::transform {
namespace {

using hlo::ComputationBuilder;

constexpr int64_t kLimit = int64_t{1} << 20;
const Shape kScalar = Shape::scalar(f32);

// `depth` computations, each of which calls the one before twice: 2^depth calls of the first.
hlo::Module doubling_calls(int depth) {
  hlo::Module module;
  ComputationBuilder first(module);
  const InstructionId negated = *first.add(Opcode::kNegate, {first.parameter(kScalar)});
  ComputationId callee = module.add(std::move(first).finish(negated));
  for (int i = 0; i < depth; ++i) {
    ComputationBuilder to(module);
    InstructionId x = to.parameter(kScalar);
    for (int k = 0; k < 2; ++k)
      x = *to.add(Opcode::kCall, {x}, hlo::CallAttrs(), {callee}, &kScalar);
    callee = module.add(std::move(to).finish(x));
  }
  module.entry = callee;
  return module;
}

int64_t calls_in(const hlo::Module& module) {
  int64_t calls = 0;
  for (const hlo::Computation& computation : module.computations) {
    for (const hlo::Instruction& instruction : computation.instructions)
      calls += instruction.opcode == Opcode::kCall;
  }
  return calls;
}

TEST(Inline, CallsOfCallsGoBelowTheLimit) {
  const hlo::Module inlined = *inline_calls(doubling_calls(10));
  EXPECT_EQ(calls_in(inlined), 0);
  EXPECT_EQ(inlined.entry_computation().size(), 1 + (1 << 10));
}

// Each depth doubles: depth 60 inlined whole would not fit any memory.
TEST(Inline, CallsPastTheLimitStay) {
  const hlo::Module inlined = *inline_calls(doubling_calls(60));
  EXPECT_TRUE(hlo::verify(inlined).ok());
  EXPECT_GT(calls_in(inlined), 0);
  EXPECT_LE(inlined.instruction_count(), kLimit);
}

// The limit is the module's, not the growth of one run: passes that settle run inline again and
// again.
TEST(Inline, SecondRunStaysBelowTheLimitToo) {
  const hlo::Module once = *inline_calls(doubling_calls(60));
  EXPECT_LE(inline_calls(once)->instruction_count(), kLimit);
}

TEST(Inline, ModuleWithoutCallsIsWhatItWas) {
  const hlo::Module module = doubling_calls(0);
  EXPECT_TRUE(hlo::equal(*inline_calls(module), module));
}

}  // namespace
}  // namespace heddle::transform
