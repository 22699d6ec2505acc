#include "heddle/cpu/rewrites/folds/spread_windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/text.h"

namespace heddle::cpu {
namespace {

// The sizes of the windows over x, padded, that are left.
std::string windows(const std::string& padding, const std::string& padded, const std::string& size,
                    const std::string& to, const std::string& op = "add",
                    const std::string& number = "0") {
  const hlo::Module module =
      hlo::parse_text(
          base::cat(
              "HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
              " ROOT c = f32[] ",
              op, "(a, b) }\nENTRY main {\n x = f32[3,1,4] parameter(0)\n z = f32[] constant(",
              number, ")\n p = f32", padded, " pad(x, z), padding=", padding, "\n ROOT w = f32", to,
              " reduce-window(p, z), window={size=", size, "}, to_apply=f\n}\n"))
          .value();
  const hlo::Module spread = spread_windows(module).value();
  std::string sizes;
  for (const hlo::Instruction& instruction : spread.entry_computation().instructions) {
    if (instruction.opcode != hlo::Opcode::kReduceWindow) continue;
    for (const auto& d : instruction.attrs.get<hlo::WindowAttrs>().window.dimensions)
      sizes += base::cat(sizes.empty() ? "" : "x", d.size);
  }
  return sizes;
}

TEST(SpreadWindows, OfOneElementAreNone) {
  EXPECT_EQ(windows("0_0x6_6x0_0", "[3,13,4]", "1x7x1", "[3,7,4]"), "1x1x1");
  EXPECT_EQ(windows("0_0x6_3x1_1", "[3,10,6]", "1x7x3", "[3,4,4]"), "1x1x3");
}

TEST(SpreadWindows, OthersStay) {
  EXPECT_EQ(windows("0_0x6_6x0_0", "[3,13,4]", "1x7x1", "[3,7,4]", "maximum"), "1x7x1");
  EXPECT_EQ(windows("0_0x6_6x0_0", "[3,13,4]", "1x7x1", "[3,7,4]", "add", "1"), "1x7x1");
  EXPECT_EQ(windows("0_0x6_6x0_0", "[3,13,4]", "1x7x1", "[3,7,4]", "add", "-0"), "1x7x1");
  EXPECT_EQ(windows("0_0x7_6x0_0", "[3,14,4]", "1x7x1", "[3,8,4]"), "1x7x1");
  EXPECT_EQ(windows("6_6x0_0x0_0", "[15,1,4]", "7x1x1", "[9,1,4]"), "7x1x1");
}

}  // namespace
}  // namespace heddle::cpu
