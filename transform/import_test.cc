#include "heddle/transform/import.h"

#include <gtest/gtest.h>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {
namespace {

const char kTwice[] = R"(
double {
  x = f32[] parameter(0)
  ROOT y = f32[] add(x, x)
}
ENTRY main {
  x = f32[] parameter(0)
  a = f32[] call(x), to_apply=double
  ROOT b = f32[] call(a), to_apply=double
})";

const char kNegated[] = R"(
minus {
  x = f32[] parameter(0)
  ROOT y = f32[] negate(x)
}
ENTRY main {
  x = f32[] parameter(0)
  ROOT b = f32[] call(x), to_apply=minus
})";

// Calls the computation on parameter 0 in a new entry.
void call_from_entry(hlo::Module& module, ComputationId callee) {
  hlo::ComputationBuilder to(module);
  const Shape scalar = Shape::scalar(f32);
  const auto root =
      to.add(Opcode::kCall, {to.parameter(scalar)}, hlo::CallAttrs(), {callee}, &scalar);
  module.entry = module.add(std::move(to).finish(*root));
}

float run(const hlo::Module& module, double x) {
  return static_cast<float>(interpreter::evaluate(module, {Literal::scalar(f32, x)})->to_double(0));
}

TEST(Import, AppendsWithCalleesShifted) {
  hlo::Module into = *hlo::parse_text(kNegated);
  const size_t before = into.computations.size();
  const ComputationId id = import(into, *hlo::parse_text(kTwice));
  EXPECT_EQ(into.computations.size(), before + 2);
  EXPECT_EQ(id, ComputationId(before + 1));
  EXPECT_EQ(into.at(id).root_instruction().called[0], ComputationId(before));
  EXPECT_EQ(run(into, 3), -3);  // the entry is what it was
}

TEST(Import, ImportedEntryCanBeCalled) {
  hlo::Module into = *hlo::parse_text(kNegated);
  call_from_entry(into, import(into, *hlo::parse_text(kTwice)));
  EXPECT_TRUE(hlo::verify(into).ok());
  EXPECT_EQ(run(into, 3), 12);
}

TEST(Import, IntoAnEmptyModuleKeepsTheIds) {
  const hlo::Module from = *hlo::parse_text(kTwice);
  hlo::Module into;
  into.entry = import(into, from);
  EXPECT_TRUE(hlo::equal(into, from));
}

TEST(Import, MovingGivesTheSame) {
  const hlo::Module from = *hlo::parse_text(kTwice);
  hlo::Module copied = *hlo::parse_text(kNegated), moved = copied;
  EXPECT_EQ(import(copied, from), import(moved, hlo::Module(from)));
  EXPECT_TRUE(hlo::equal(copied, moved));
  EXPECT_EQ(from.computations.size(), 2u);
}

TEST(Import, TwoImportsOfOneModuleAreApart) {
  const hlo::Module from = *hlo::parse_text(kTwice);
  hlo::Module into;
  const ComputationId first = import(into, from);
  const ComputationId second = import(into, from);
  EXPECT_NE(first, second);
  EXPECT_NE(into.at(first).root_instruction().called[0],
            into.at(second).root_instruction().called[0]);
}

TEST(Import, ConstantsShareTheirBytes) {
  const hlo::Module from = *hlo::parse_text("ENTRY main { ROOT c = f32[3] constant({1, 2, 3}) }");
  hlo::Module into;
  const ComputationId id = import(into, from);
  auto bytes_of = [](const hlo::Computation& computation) {
    return computation.root_instruction().attrs.get<hlo::ConstantAttrs>().literal.bytes();
  };
  EXPECT_EQ(bytes_of(into.at(id)), bytes_of(from.entry_computation()));
}

}  // namespace
}  // namespace heddle::transform
