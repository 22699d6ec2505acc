#include "heddle/hlo/text/pictures/dot.h"

#include <algorithm>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kLoop = R"(
below { s = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(i, n), direction=LT }
next { ROOT s = (s32[], f32[4]) parameter(0) }
ENTRY main { start = (s32[], f32[4]) parameter(0)
  ROOT loop = (s32[], f32[4]) while(start), condition=below, body=next })";

Module parsed(std::string_view text) { return parse_text(text).value(); }

TEST(Dot, InstructionsAreNodesWithNameTypeAndAttributes) {
  const std::string dot = print_dot(parsed(kLoop));
  EXPECT_THAT(
      dot, HasSubstr("    c0_0 [label=\"s\\n(s32[], f32[4])\\nparameter 0\", shape=ellipse];\n"));
  EXPECT_THAT(dot, HasSubstr("    c0_2 [label=\"n\\ns32[]\\nconstant 3\"];\n"));
  EXPECT_THAT(
      dot,
      HasSubstr("    c0_3 [label=\"less\\npred[]\\ncompare\\ndirection=LT\", peripheries=2];\n"));
}

TEST(Dot, OperandsAreEdgesInTheirCluster) {
  const std::string dot = print_dot(parsed(kLoop));
  EXPECT_THAT(dot, HasSubstr("  subgraph cluster_0 {\n    label=\"below\";\n"));
  EXPECT_THAT(dot, HasSubstr("    c0_0 -> c0_1;\n"));
  EXPECT_THAT(dot, HasSubstr("    c0_1 -> c0_3 [label=\"0\"];\n    c0_2 -> c0_3 [label=\"1\"];\n"));
}

TEST(Dot, LoopsAreLinkedToConditionAndBody) {
  const std::string dot = print_dot(parsed(kLoop));
  EXPECT_THAT(dot,
              HasSubstr("c2_1 -> c0_3 [style=dashed, lhead=cluster_0, label=\"condition\"];\n"));
  EXPECT_THAT(dot, HasSubstr("c2_1 -> c1_0 [style=dashed, lhead=cluster_1, label=\"body\"];\n"));
}

TEST(Dot, LargeConstantsAndLongAttributesAreShortened) {
  const Module module = parsed(R"(ENTRY main {
    ROOT c = s32[9] constant({0, 1, 2, 3, 4, 5, 6, 7, 8})
  })");
  EXPECT_THAT(print_dot(module), HasSubstr("constant {...}\""));
  EXPECT_THAT(print_dot(module, {.max_constant_elements = 9}),
              HasSubstr("{0, 1, 2, 3, 4, 5, 6, 7, 8}"));
  const Module reversed = parsed(R"(ENTRY main {
    x = s32[2,2,2,2] parameter(0)
    ROOT r = s32[2,2,2,2] reverse(x), dimensions={0,1,2,3}
  })");
  EXPECT_THAT(print_dot(reversed, {.max_attribute_length = 4}), HasSubstr("dimensions={0,1..\""));
}

TEST(Dot, NamesAndTextsAreEscaped) {
  Module module =
      parsed(R"(ENTRY main { ROOT c = f32[2] custom-call(), custom_call_target="a\"b\\c" })");
  module.name = "m\"1";
  module.computations[0].name = "e\\n\"\ntry";
  module.computations[0].instructions[0].name = "\"];evil[";
  const std::string dot = print_dot(module);
  EXPECT_THAT(dot, HasSubstr("digraph \"m\\\"1\" {"));
  EXPECT_THAT(dot, HasSubstr("label=\"e\\\\n\\\"\\ntry\";"));
  EXPECT_THAT(dot, HasSubstr("[label=\"\\\"];evil[\\nf32[2]"));
  EXPECT_THAT(dot, Not(HasSubstr("[label=\"\"]")));
  EXPECT_EQ(std::ranges::count(dot, '{'), std::ranges::count(dot, '}'));
}

TEST(Dot, ControlPredecessorsAreDotted) {
  const std::string dot = print_dot(parsed(R"(ENTRY main {
    x = f32[] parameter(0)
    y = f32[] negate(x)
    ROOT z = f32[] abs(x), control-predecessors={y}
  })"));
  EXPECT_THAT(dot, HasSubstr("    c0_1 -> c0_2 [style=dotted];\n"));
}

TEST(Dot, InstructionsWithoutNamesGetOnes) {
  Module module = parsed(kLoop);
  for (Computation& computation : module.computations) {
    computation.name.clear();
    for (Instruction& instruction : computation.instructions) instruction.name.clear();
  }
  EXPECT_THAT(print_dot(module), HasSubstr("label=\"computation.2\";"));
  EXPECT_THAT(print_dot(module), HasSubstr("c2_1 [label=\"while.1\\n"));
}

}  // namespace
}  // namespace heddle::hlo
