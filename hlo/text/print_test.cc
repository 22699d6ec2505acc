// The forms of print(), the names it makes, and foo-start.
#include "heddle/base/support_test.h"
#include "heddle/hlo/builder.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kText =
    R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2]{0}}

%sum.1 (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %s = f32[] add(%a, %b)
}

ENTRY %main.2 (x: f32[2,3]) -> f32[2] {
  %x = f32[2,3]{1,0} parameter(0)
  %z = f32[] constant(0)
  ROOT %r = f32[2]{0} reduce(%x, %z), dimensions={1}, to_apply=%sum.1, metadata={op_name="n"}
}

)";

std::string reprint(PrintOptions options) { return print(*parse_text(kText), options); }

TEST(Print, GivesTheLongFormAsXlaDoes) { EXPECT_EQ(reprint({}), kText); }

TEST(Print, GivesTheShortFormAsXlaDoes) {
  EXPECT_EQ(reprint({.form = PrintOptions::Form::kShort}),
            R"(HloModule m, entry_computation_layout={(f32[2,3]{1,0})->f32[2]{0}}

sum.1 {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}

ENTRY main.2 {
  x = f32[2,3]{1,0} parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[2]{0} reduce(x, z), dimensions={1}, to_apply=sum.1, metadata={op_name="n"}
}

)");
}

TEST(Print, GivesACanonicalFormWithoutNamesAndMetadata) {
  EXPECT_EQ(reprint({.form = PrintOptions::Form::kCanonical}),
            R"(HloModule module, entry_computation_layout={(f32[2,3]{1,0})->f32[2]{0}}

computation.0 {
  tmp_0 = f32[] parameter(0)
  tmp_1 = f32[] parameter(1)
  ROOT tmp_2 = f32[] add(tmp_0, tmp_1)
}

ENTRY computation.1 {
  tmp_0 = f32[2,3]{1,0} parameter(0)
  tmp_1 = f32[] constant(0)
  ROOT tmp_2 = f32[2]{0} reduce(tmp_0, tmp_1), dimensions={1}, to_apply=computation.0
}

)");
}

TEST(Print, GivesOneComputation) {
  auto module = parse_text(kText);
  EXPECT_EQ(
      print(*module, ComputationId(0), {.form = PrintOptions::Form::kShort}),
      "sum.1 {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}");
}

TEST(Print, WritesOperandTypesOnRequest) {
  EXPECT_THAT(reprint({.operand_types = true}), HasSubstr("reduce(f32[2,3]{1,0} %x, f32[] %z)"));
}

// Instructions of the given names, as they are printed.
std::vector<std::string> printed_names(const std::vector<std::string>& names,
                                       PrintOptions::Form form) {
  Module module;
  ComputationBuilder builder(module, "main");
  for (const std::string& name : names) builder.parameter(Shape::scalar(f32), name);
  module.entry = module.add(std::move(builder).finish(InstructionId(0)));
  auto again = parse_text(print(module, {.form = form}));
  EXPECT_TRUE(again.ok()) << again.status();
  std::vector<std::string> printed;
  for (const Instruction& instruction : again->entry_computation().instructions)
    printed.push_back(instruction.name);
  return printed;
}

TEST(PrintNames, MakesMissingOnesThatCollideWithNone) {
  EXPECT_THAT(printed_names({"", "parameter.0", ""}, PrintOptions::Form::kLong),
              ::testing::ElementsAre("parameter.0.1", "parameter.0", "parameter.2"));
}

TEST(PrintNames, ChangesWhatTextCannotCarry) {
  EXPECT_THAT(printed_names({"a b", "a_b", "a b", "1", "é"}, PrintOptions::Form::kLong),
              ::testing::ElementsAre("a_b.1", "a_b", "a_b.2", "_1", "___"));
}

TEST(PrintNames, ChangesReservedWordsInTheShortFormAlone) {
  EXPECT_THAT(printed_names({"f32", "nan", "tuple"}, PrintOptions::Form::kShort),
              ::testing::ElementsAre("f32_", "nan_", "tuple"));
  EXPECT_THAT(printed_names({"f32", "nan", "tuple"}, PrintOptions::Form::kLong),
              ::testing::ElementsAre("f32", "nan", "tuple"));
}

TEST(Print, TakesTheUsersLineForMetadata) {
  Module module;
  ComputationBuilder builder(module, "main");
  builder.set_location({"f.cc", 7});
  InstructionId x = builder.parameter(Shape::scalar(f32), "x");
  module.entry = module.add(std::move(builder).finish(x));
  EXPECT_THAT(print(module),
              HasSubstr("parameter(0), metadata={source_file=\"f.cc\" source_line=7}\n"));
}

TEST(Print, GivesLinesAsCommentsForPeople) {
  Module module;
  ComputationBuilder builder(module, "main");
  builder.set_location({"a/very/long/way/to/f.cc", 7});
  InstructionId x = builder.parameter(Shape::scalar(f32), "x");
  module.entry = module.add(std::move(builder).finish(x));
  const std::string text =
      print(module, {.form = PrintOptions::Form::kShort, .line_comments = true});
  EXPECT_THAT(text, HasSubstr("  ROOT x = f32[] parameter(0)  // f.cc:7\n"));
  EXPECT_TRUE(equal(*parse_text(text), module));
  EXPECT_THAT(reprint({.line_comments = true}), ::testing::Not(HasSubstr("metadata")));
  const std::string layouts = "m { x = f32[2,3]{0,1} parameter(0) ROOT y = f32[2,3]{1,0} copy(x) }";
  EXPECT_EQ(
      print(*parse_text(layouts), {.form = PrintOptions::Form::kShort, .line_comments = true}),
      R"(HloModule m, entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]}

ENTRY m {
  x = f32[2,3]{0,1} parameter(0)
  ROOT y = f32[2,3] copy(x)
}

)");
}

TEST(AsyncSugar, StandsForAComputationOfTheOneOp) {
  auto module = parse_text(
      "ENTRY m { x = f32[2] parameter(0) s = ((f32[2]), f32[2], u32[]) custom-call-start(x), "
      "custom_call_target=\"t\", "
      "async_execution_thread=\"worker\", metadata={op_name=\"n\"} u = ((f32[2]), f32[2], u32[]) "
      "custom-call-update(s) "
      "ROOT d = f32[2] custom-call-done(u) }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(print(*module, {.form = PrintOptions::Form::kShort}),
            R"(HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

async_computation.0 {
  p0 = f32[2]{0} parameter(0)
  ROOT custom-call = f32[2]{0} custom-call(p0), custom_call_target="t"
}, execution_thread="worker"

ENTRY m {
  x = f32[2]{0} parameter(0)
  s = ((f32[2]{0}), f32[2]{0}, u32[]) async-start(x), async_execution_thread="worker", calls=async_computation.0, metadata={op_name="n"}
  u = ((f32[2]{0}), f32[2]{0}, u32[]) async-update(s)
  ROOT d = f32[2]{0} async-done(u)
}

)");
}

TEST(AsyncSugar, NeedsTheTypeOfAnAsyncStart) {
  auto error = [](std::string_view type) {
    return base::message_of(parse_text(base::cat("ENTRY m { x = f32[] parameter(0) ROOT s = ", type,
                                                 " negate-start(x) }"))
                                .status());
  };
  EXPECT_THAT(error("f32[]"), HasSubstr("negate-start: has the type f32[]; it must be a tuple of "
                                        "(operands), result and contexts"));
  EXPECT_THAT(error(""), HasSubstr("negate-start: has no result type"));
  EXPECT_THAT(error("((f32[]), f32[2])"),
              HasSubstr("negate: result is declared as f32[2]; its operands give f32[]"));
}

}  // namespace
}  // namespace heddle::hlo
