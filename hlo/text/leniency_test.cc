// Text that XLA does not print but reads, and so do we: each comes to the module of the canonical
// form given.
#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

// The text of the computations, short, without the header; or the error.
std::string short_form(std::string_view text) {
  auto module = parse_text(text);
  if (!module.ok()) return base::message_of(module.status());
  std::string out = print(*module, {.form = PrintOptions::Form::kShort});
  return out.substr(out.find("\n\n") + 2);
}

TEST(Leniency, TakesABareInstructionWhoseOperandsBecomeParameters) {
  EXPECT_EQ(short_form("ROOT %r = f32[2] add(f32[2] %x, f32[2] y), metadata={op_name=\"n\"}"),
            "ENTRY main {\n  x = f32[2]{0} parameter(0)\n  y = f32[2]{0} parameter(1)\n"
            "  ROOT r = f32[2]{0} add(x, y), metadata={op_name=\"n\"}\n}\n\n");
}

TEST(Leniency, MakesOneParameterOfAnOperandThatABareInstructionNamesTwice) {
  EXPECT_EQ(short_form("multiply(f32[2] x, f32[2] x)"),
            "ENTRY main {\n  x = f32[2]{0} parameter(0)\n  ROOT multiply.1 = f32[2]{0} multiply(x, "
            "x)\n}\n\n");
  EXPECT_THAT(short_form("multiply(f32[2] x, x)"), HasSubstr("multiply(x, x)"));
  EXPECT_THAT(short_form("multiply(f32[2] x, f32[3] x)"),
              HasSubstr("operand x is written as f32[3]; it was defined as f32[2]"));
}

TEST(Leniency, TakesABareFusionWithItsComputationInline) {
  EXPECT_THAT(short_form("f32[2] fusion(f32[2] x), kind=kLoop, calls={ p = f32[2] parameter(0) "
                         "ROOT n = f32[2] negate(p) }"),
              HasSubstr("ROOT fusion.1 = f32[2]{0} fusion(x), kind=kLoop, calls=computation.0"));
}

TEST(Leniency, TakesTheLastComputationForTheEntryAndTheLastInstructionForTheRoot) {
  auto module =
      parse_text("a { x = f32[] parameter(0) }\nb { y = f32[] parameter(0)\n z = negate(y) }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->name, "b");
  EXPECT_EQ(module->entry_computation().root_instruction().name, "z");
}

TEST(Leniency, TakesAnEntryThatIsNotLast) {
  auto module =
      parse_text("HloModule m\nENTRY a { x = f32[] parameter(0) }\nb { y = f32[] parameter(0) }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->entry_computation().name, "a");
  EXPECT_TRUE(equal(*module, *parse_text(print(*module))));
}

TEST(Leniency, InfersTypesThatAreLeftOut) {
  EXPECT_THAT(
      short_form(
          "ENTRY m { x = f32[2,3] parameter(0) y = transpose(x), dimensions={1,0} t = tuple(x, y) "
          "z = get-tuple-element(t), index=1 ROOT c = compare(z, y), direction=LT }"),
      HasSubstr("ROOT c = pred[3,2]{1,0} compare(z, y), direction=LT"));
}

TEST(Leniency, TakesNestedInstructions) {
  EXPECT_EQ(short_form("ENTRY m { x = f32[2] parameter(0) ROOT r = add(f32[2] negate(x), "
                       "multiply(x, negate(f32[2]{0} %x))) }"),
            "ENTRY m {\n  x = f32[2]{0} parameter(0)\n  negate.anon = f32[2]{0} negate(x)\n"
            "  negate.anon.1 = f32[2]{0} negate(x)\n  multiply.anon = f32[2]{0} multiply(x, "
            "negate.anon.1)\n"
            "  ROOT r = f32[2]{0} add(negate.anon, multiply.anon)\n}\n\n");
}

TEST(Leniency, KeepsNestedInstructionsApartFromNamesLikeTheirs) {
  EXPECT_THAT(
      short_form(
          "ENTRY m { negate.anon = f32[] parameter(0) ROOT r = negate(negate(negate.anon)) }"),
      HasSubstr(
          "negate.anon.1 = f32[] negate(negate.anon)\n  ROOT r = f32[] negate(negate.anon.1)"));
}

TEST(Leniency, TakesInlineComputations) {
  EXPECT_EQ(
      short_form(
          "ENTRY m { x = f32[2] parameter(0) z = f32[] constant(0) ROOT r = f32[] reduce(x, z), "
          "dimensions={0}, "
          "to_apply={ a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) } }"),
      "computation.0 {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] "
      "add(a, b)\n}\n\n"
      "ENTRY m {\n  x = f32[2]{0} parameter(0)\n  z = f32[] constant(0)\n"
      "  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=computation.0\n}\n\n");
}

TEST(Leniency, SpellsAConditionalByTheTypeOfItsIndex) {
  std::string_view head =
      "f { x = f32[] parameter(0) }\nENTRY m { p = pred[] parameter(0) i = s32[] parameter(1) x = "
      "f32[] parameter(2) ROOT r = ";
  EXPECT_THAT(short_form(base::cat(
                  head, "f32[] conditional(p, x, x), true_computation=f, false_computation=f }")),
              HasSubstr("ROOT r"));
  EXPECT_THAT(
      short_form(base::cat(
          head, "f32[] conditional(i, x, x), branch_computations={f, {y = f32[] parameter(0)}} }")),
      HasSubstr("branch_computations={f, computation.1}"));
  EXPECT_THAT(
      short_form(base::cat(head, "f32[] conditional(p, x, x), branch_computations={f, f} }")),
      HasSubstr("conditional has no attribute branch_computations"));
  EXPECT_THAT(short_form(base::cat(
                  head, "f32[] conditional(i, x, x), true_computation=f, false_computation=f }")),
              HasSubstr("conditional has no attribute true_computation"));
}

TEST(Leniency, TakesCommentsBetweenAllTokens) {
  EXPECT_THAT(short_form("/*a*/HloModule/*b*/m// "
                         "c\nENTRY/*d*/m/*e*/{/*f*/ROOT/*g*/r/*h*/=/*i*/f32[/*j*/]/*k*/constant/"
                         "*l*/(/*m*/-1/*n*/)/*o*/}"),
              HasSubstr("ROOT r = f32[] constant(-1)"));
}

TEST(Leniency, TakesWordsOfTheLanguageForNamesWhereNothingElseFits) {
  EXPECT_THAT(short_form("ENTRY m { nan = f32[] parameter(0) ROOT = f32[] negate(nan) ROOT f32 = "
                         "f32[] add(nan, ROOT) }"),
              HasSubstr("ROOT f32_ = f32[] add(nan_, ROOT_)"));
}

TEST(Leniency, DropsTheModeOfAnAllReduce) {
  EXPECT_THAT(
      short_form("f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
                 "ENTRY m { x = f32[] parameter(0) ROOT r = f32[] all-reduce(x), "
                 "mode=cross_replica, to_apply=f }"),
      HasSubstr("all-reduce(x), replica_groups={}, to_apply=f"));
}

TEST(Leniency, TakesToApplyForTheOneComputationOfACustomCall) {
  EXPECT_THAT(short_form("f { a = f32[] parameter(0) }\nENTRY m { ROOT r = f32[] custom-call(), "
                         "custom_call_target=\"t\", to_apply=f }"),
              HasSubstr("custom_call_target=\"t\", called_computations={f}"));
}

}  // namespace
}  // namespace heddle::hlo
