// Stable sorts of rows, which are written as ranks.
#include "heddle/cpu/rewrites/sorts/ranked_sorts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string sort_of(const std::string& type, const std::string& shape, int dimension,
                    const std::string& order, bool is_stable = true) {
  return cat("HloModule m\nless { a = ", type, "[] parameter(0)\n  b = ", type, "[] parameter(1)\n",
             order, " }\nENTRY main {\n  x = ", type, shape, " parameter(0)\n  ROOT y = ", type,
             shape, " sort(x), dimensions={", dimension,
             "}, is_stable=", is_stable ? "true" : "false", ", to_apply=less }\n");
}

const std::string kLess = "  ROOT c = pred[] compare(a, b), direction=LT";
const std::string kGreater = "  ROOT c = pred[] compare(a, b), direction=GT, type=TOTALORDER";

bool is_ranked(const std::string& text) {
  const hlo::Module ranked = rank_sorts(hlo::parse_text(text).value()).value();
  return std::ranges::count(ranked.entry_computation().instructions, hlo::Opcode::kSort,
                            &hlo::Instruction::opcode) == 0;
}

TEST(CpuRankedSorts, OfEachLengthAndType) {
  for (const char* type : {"f32", "f64", "s32", "u32", "s64"}) {
    for (const int n : {13, 16, 31, 100, 128}) {
      const std::string text = sort_of(type, cat("[", n, "]"), 0, kLess);
      EXPECT_TRUE(is_ranked(text)) << text;
      expect_as_evaluated(text);
    }
  }
  expect_as_evaluated(sort_of("f32", "[40]", 0, kGreater));
}

TEST(CpuRankedSorts, RowsOfSeveralDimensions) {
  for (const char* shape : {"[7,20]", "[3,5,17]", "[20,2]", "[1,33]"}) {
    const std::string text =
        sort_of("f32", shape, static_cast<int>(std::ranges::count(std::string(shape), ',')), kLess);
    EXPECT_TRUE(is_ranked(text)) << text;
    expect_as_evaluated(text);
  }
}

TEST(CpuRankedSorts, OperandsFollowTheirKeys) {
  // By y, then by x downwards; z follows.
  const std::string text =
      "HloModule m\nless { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
      "  c = s32[] parameter(2)\n  d = s32[] parameter(3)\n  e = u8[] parameter(4)\n"
      "  f = u8[] parameter(5)\n  g = pred[] compare(c, d), direction=LT\n"
      "  h = pred[] compare(c, d), direction=EQ\n"
      "  i = pred[] compare(a, b), direction=GT, type=TOTALORDER\n"
      "  ROOT j = pred[] select(h, i, g) }\nENTRY main {\n  x = f32[3,50] parameter(0)\n"
      "  y = s32[3,50] parameter(1)\n  z = u8[3,50] parameter(2)\n"
      "  four = s32[] constant(4)\n  fours = s32[3,50] broadcast(four), dimensions={}\n"
      "  few = s32[3,50] remainder(y, fours)\n"
      "  ROOT s = (f32[3,50], s32[3,50], u8[3,50]) sort(x, few, z), dimensions={1}, "
      "is_stable=true, to_apply=less }\n";
  EXPECT_TRUE(is_ranked(text));
  expect_as_evaluated(text);
}

TEST(CpuRankedSorts, OthersStay) {
  EXPECT_FALSE(is_ranked(sort_of("f32", "[129]", 0, kLess))) << "long";
  EXPECT_FALSE(is_ranked(sort_of("f32", "[20,3]", 0, kLess))) << "no rows";
  EXPECT_FALSE(is_ranked(sort_of("f32", "[20]", 0, kLess, false))) << "equal ones in any order";
  EXPECT_FALSE(
      is_ranked(sort_of("f32", "[20]", 0, "  ROOT c = pred[] compare(a, b), direction=LE")));
}

}  // namespace
}  // namespace heddle::cpu
