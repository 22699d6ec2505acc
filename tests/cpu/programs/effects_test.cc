// Custom calls with an effect run natively: as often as the evaluator runs them, and in its order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/backend.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/custom_call.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;
using interpreter::CustomCall;

std::vector<int64_t>& noted() {
  static std::vector<int64_t>& numbers = *new std::vector<int64_t>();
  return numbers;
}

// note(x..): notes its operands.
StatusOr<Literal> note(CustomCall& call) {
  for (size_t i = 0; i < call.size(); ++i) noted().push_back(call[i].to_int64(0));
  return Literal(call.result());
}

class CpuEffects : public ::testing::Test {
 protected:
  void SetUp() override {
    HEDDLE_NEEDS_CODE_GENERATOR();
    ASSERT_TRUE(interpreter::register_custom_call("test.note", note).ok());
  }
  void TearDown() override { (void)interpreter::unregister_custom_call("test.note"); }

  // What a run notes natively, which is what the evaluator's notes.
  static std::vector<int64_t> notes_of(const std::string& text) {
    const hlo::Module module = hlo::parse_text(text).value();
    const std::vector<Literal> arguments = arguments_of(module);
    noted().clear();
    const Literal want = interpreter::evaluate(module, arguments).value();
    const std::vector<int64_t> evaluated = noted();
    const int64_t before = statistics().native;
    const OnCpu program(module);
    EXPECT_EQ(statistics().native, before + 1);
    for (int run = 0; run < 2; ++run) {
      noted().clear();
      EXPECT_EQ(difference(program.run(arguments), want), "");
      EXPECT_EQ(noted(), evaluated);
    }
    return evaluated;
  }
};

constexpr char kNote[] =
    ", custom_call_target=\"test.note\", custom_call_has_side_effect=true, "
    "api_version=API_VERSION_TYPED_FFI\n";

// A loop of `turns` over (s32[], f32[64]), with these lines in its body, where i is the turn's
// number and h the array.
std::string loop(int turns, const std::string& body, const std::string& condition = "") {
  return cat("more { s = (s32[], f32[64]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n",
             condition, " n = s32[] constant(", turns,
             ")\n ROOT l = pred[] compare(i, n), direction=LT }\n"
             "turn { s = (s32[], f32[64]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
             " h = f32[64] get-tuple-element(s), index=1\n one = s32[] constant(1)\n"
             " next = s32[] add(i, one)\n",
             body,
             " k = f32[64] abs(h)\n m = f32[64] subtract(k, h)\n"
             " ROOT t = (s32[], f32[64]) tuple(next, m) }\n"
             "ENTRY main { x = f32[64] parameter(0)\n zero = s32[] constant(0)\n"
             " s = (s32[], f32[64]) tuple(zero, x)\n"
             " ROOT w = (s32[], f32[64]) while(s), condition=more, body=turn }\n");
}

TEST_F(CpuEffects, KeepTheirOrder) {
  const std::vector<int64_t> notes = notes_of(
      cat("HloModule m\nENTRY main { x = f32[64] parameter(0)\n a = s32[] constant(1)\n"
          " b = s32[] constant(2)\n n0 = () custom-call(b)",
          kNote, " n1 = u32[] custom-call(a)", kNote, " n2 = f32[3] custom-call(b, a)", kNote,
          " y = f32[64] abs(x)\n n3 = () custom-call(b)", kNote, " ROOT r = f32[64] negate(y) }"));
  EXPECT_THAT(notes, testing::ElementsAre(2, 1, 2, 1, 2));
}

TEST_F(CpuEffects, OfAnArrayThatNothingElseReads) {
  const std::vector<int64_t> notes =
      notes_of(cat("HloModule m\nENTRY main { x = s32[64] parameter(0)\n k = s32[] parameter(1)\n"
                   " y = s32[64] negate(x)\n n0 = () custom-call(y, y)",
                   kNote, " n1 = () custom-call(y)", kNote, " ROOT r = s32[] negate(k) }"));
  EXPECT_EQ(notes.size(), 3u);
}

TEST_F(CpuEffects, AreInEveryTurnOfALoop) {
  const std::string twice = cat(" n0 = () custom-call(i)", kNote, " j = s32[] multiply(i, i)\n",
                                " n1 = () custom-call(j)", kNote);
  EXPECT_THAT(notes_of(cat("HloModule m\n", loop(4, twice))),
              testing::ElementsAre(0, 0, 1, 1, 2, 4, 3, 9));
  EXPECT_EQ(notes_of(cat("HloModule m\n", loop(300, twice))).size(), 600u);
  EXPECT_THAT(notes_of(cat("HloModule m\n", loop(0, twice))), testing::IsEmpty());
  // What is the same in every turn is noted in every turn.
  EXPECT_THAT(notes_of(cat("HloModule m\n", loop(3, cat(" n0 = () custom-call(one)", kNote)))),
              testing::ElementsAre(1, 1, 1));
  EXPECT_THAT(notes_of(cat("HloModule m\n", loop(2, "", cat(" n0 = () custom-call(i)", kNote)))),
              testing::ElementsAre(0, 1, 2));
}

// Readers of an array come before what overwrites it, but not one call before another.
TEST_F(CpuEffects, KeepTheirOrderBesideUpdates) {
  const std::vector<int64_t> notes = notes_of(
      cat("HloModule m\n",
          loop(3, cat(" v = f32[1] constant({100})\n u = f32[64] dynamic-update-slice(h, v, i)\n"
                      " seven = s32[] constant(7)\n n0 = () custom-call(seven)",
                      kNote, " z = s32[64] convert(h)\n n1 = () custom-call(z)", kNote,
                      " g = f32[64] add(u, h)\n"))));
  ASSERT_EQ(notes.size(), 6u);
  for (size_t i = 0; i < notes.size(); i += 2) EXPECT_EQ(notes[i], 7);
}

TEST_F(CpuEffects, AreInTheBranchThatIsTaken) {
  const std::string branches = cat(
      "yes { p = s32[] parameter(0)\n n = () custom-call(p)", kNote,
      " ROOT r = s32[] negate(p) }\nno { p = s32[] parameter(0)\n ROOT r = s32[] add(p, p) }\n");
  EXPECT_THAT(
      notes_of(cat("HloModule m\n", branches,
                   loop(6,
                        " two = s32[] constant(2)\n q = s32[] remainder(i, two)\n z = s32[] "
                        "constant(0)\n c = pred[] compare(q, z), direction=EQ\n o = s32[] "
                        "conditional(c, i, i), true_computation=yes, false_computation=no\n"))),
      testing::ElementsAre(0, 2, 4));
}

// The condition is asked once more than there are turns; also by a loop in a short one.
TEST_F(CpuEffects, OfConditions) {
  EXPECT_THAT(notes_of(cat("HloModule m\n", loop(0, "", cat(" n0 = () custom-call(i)", kNote)))),
              testing::ElementsAre(0));
  EXPECT_THAT(notes_of(cat("HloModule m\n", loop(1, "", cat(" n0 = () custom-call(i)", kNote)))),
              testing::ElementsAre(0, 1));
  const std::string inner =
      cat("asked { k = s32[] parameter(0)\n n = s32[] constant(1)\n e = () custom-call(k)", kNote,
          " ROOT l = pred[] compare(k, n), direction=LT }\nnext { k = s32[] parameter(0)\n o = "
          "s32[] constant(1)\n ROOT m = s32[] add(k, o) }\n");
  EXPECT_THAT(notes_of(cat("HloModule m\n", inner,
                           loop(2,
                                " z = s32[] constant(0)\n v = s32[] while(z), "
                                "condition=asked, body=next\n"))),
              testing::ElementsAre(0, 1, 0, 1));
}

// Its results are nobody's, and neither are those of the loop around it.
TEST_F(CpuEffects, OfALoopThatNobodyReads) {
  std::string text = loop(3, cat(" n0 = () custom-call(i)", kNote));
  text.replace(text.find("ROOT w"), 6, "w");
  text.replace(text.rfind("}"), 1, " ROOT r = f32[64] negate(x) }");
  EXPECT_THAT(notes_of(cat("HloModule m\n", text)), testing::ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace heddle::cpu
