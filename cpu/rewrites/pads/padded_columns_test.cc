#include "heddle/cpu/rewrites/pads/padded_columns.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"

namespace heddle::cpu {
namespace {

// The root's op after the sum is rewritten; empty: the module stays.
std::string root_of(const std::string& lines) {
  const hlo::Module module =
      hlo::parse_text(base::cat("HloModule m\nENTRY main {\n x = f32[9,1] parameter(0)\n"
                                " y = f32[9,2] parameter(1)\n w = f32[9,3] parameter(2)\n"
                                " zero = f32[] constant(0)\n one = f32[] constant(1)\n"
                                " a = f32[9,3] pad(x, zero), padding=0_0x0_2\n"
                                " b = f32[9,3] pad(y, zero), padding=0_0x1_0\n"
                                " c = f32[9,3] pad(y, zero), padding=0_0x0_1\n"
                                " d = f32[9,3] pad(x, one), padding=0_0x1_1\n",
                                lines, "}\n"))
          .value();
  const auto joined = join_padded_columns(module).value();
  if (!joined) return "";
  return std::string(to_string(joined->entry_computation().root_instruction().opcode));
}

TEST(PaddedColumns, BecomeOneArray) {
  EXPECT_EQ(root_of(" ROOT r = f32[9,3] add(a, b)\n"), "concatenate");
  EXPECT_EQ(root_of(" s = f32[9,3] add(a, b)\n ROOT r = f32[9,3] add(b, s)\n"), "concatenate");
  // With another term, which is added to all of them.
  EXPECT_EQ(root_of(" s = f32[9,3] add(a, w)\n ROOT r = f32[9,3] add(s, b)\n"), "add");
}

// 50 sums, each of the one before with itself.
TEST(PaddedColumns, OfSumsThatAreReadTwice) {
  std::string lines = " s0 = f32[9,3] add(a, b)\n";
  for (int i = 1; i < 50; ++i)
    lines += base::cat(" s", i, " = f32[9,3] add(s", i - 1, ", s", i - 1, ")\n");
  EXPECT_EQ(root_of(lines + " ROOT r = f32[9,3] add(s49, a)\n"), "concatenate");
}

TEST(PaddedColumns, StayWhereTheyOverlapOrAreAloneOrOnes) {
  EXPECT_EQ(root_of(" ROOT r = f32[9,3] add(b, c)\n"), "");
  EXPECT_EQ(root_of(" ROOT r = f32[9,3] add(a, a)\n"), "");
  EXPECT_EQ(root_of(" ROOT r = f32[9,3] add(a, w)\n"), "");
  EXPECT_EQ(root_of(" ROOT r = f32[9,3] add(a, d)\n"), "");
  EXPECT_EQ(root_of(" ROOT r = f32[9,3] subtract(a, b)\n"), "");
}

}  // namespace
}  // namespace heddle::cpu
