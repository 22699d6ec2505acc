#include "heddle/cpu/rewrites/interleaved_pads.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

namespace heddle::cpu {
namespace {

using base::cat;

// x padded by one list and y by another, with z, and added.
hlo::Module sum_of_pads(const std::string& x, const std::string& pad_x, const std::string& y,
                        const std::string& pad_y, const std::string& z = "0",
                        const std::string& sum = "f32[6,3]") {
  return hlo::parse_text(cat("HloModule m\nENTRY main { x = ", x, " parameter(0)\n y = ", y,
                             " parameter(1)\n z = f32[] constant(", z, ")\n p = ", sum,
                             " pad(x, z), padding=", pad_x, "\n q = ", sum,
                             " pad(y, z), padding=", pad_y, "\n ROOT r = ", sum, " add(p, q) }\n"))
      .value();
}

bool is_joined(const hlo::Module& module) {
  const hlo::Module joined = join_interleaved_pads(module).value();
  return joined.entry_computation().root_instruction().opcode != hlo::Opcode::kAdd;
}

TEST(InterleavedPads, BecomeOneArray) {
  const std::string x = "f32[3,3]";
  EXPECT_TRUE(is_joined(sum_of_pads(x, "0_1_1x0_0_0", x, "1_0_1x0_0_0")));
  EXPECT_TRUE(is_joined(sum_of_pads(x, "1_0_1x0_0_0", x, "0_1_1x0_0_0")));
  EXPECT_TRUE(is_joined(sum_of_pads("f32[6,2]", "0_0_0x0_0_1", "f32[6,1]", "0_0_0x1_1_1")));
}

TEST(InterleavedPads, StayWhereTheyAreNoTurns) {
  const std::string x = "f32[3,3]";
  EXPECT_FALSE(is_joined(sum_of_pads(x, "0_1_1x0_0_0", x, "0_1_1x0_0_0")));
  EXPECT_FALSE(is_joined(sum_of_pads(x, "0_1_1x0_0_0", x, "1_0_1x0_0_0", "-0")));
  EXPECT_FALSE(is_joined(sum_of_pads(x, "0_1_1x0_0_0", x, "1_0_1x0_0_0", "2")));
  EXPECT_FALSE(is_joined(sum_of_pads("f32[2,3]", "0_2_2x0_0_0", "f32[2,3]", "2_0_2x0_0_0")));
  EXPECT_FALSE(is_joined(sum_of_pads(x, "0_1_1x0_0_0", "f32[6,2]", "0_0_0x0_0_1")));
  // Of no rows, all of the result is padding.
  EXPECT_FALSE(is_joined(sum_of_pads("f32[0]", "0_1_1", "f32[0]", "1_0_1", "0", "f32[1]")));
  EXPECT_FALSE(is_joined(sum_of_pads("f32[1]", "0_1_1", "f32[0]", "1_1_1", "0", "f32[2]")));
}

// Of an odd number, and of zeros with a sign.
TEST(InterleavedPads, KeepTheirBits) {
  const hlo::Module module = sum_of_pads("f32[6,2]", "0_0_0x0_0_1", "f32[6,1]", "0_0_0x1_1_1");
  const auto literal = [](const std::string& text, const Shape& shape) {
    return hlo::parse_literal(text, shape).value();
  };
  const std::vector<Literal> arguments = {
      literal("{{1, -0}, {2, 3}, {nan, -inf}, {0, 4}, {5, 6}, {7, 8}}", Shape(f32, {6, 2})),
      literal("{{-0}, {0}, {9}, {nan}, {inf}, {-3}}", Shape(f32, {6, 1}))};
  const hlo::Module joined = join_interleaved_pads(module).value();
  EXPECT_EQ(hlo::print_literal(interpreter::evaluate(joined, arguments).value()),
            hlo::print_literal(interpreter::evaluate(module, arguments).value()));
}

}  // namespace
}  // namespace heddle::cpu
