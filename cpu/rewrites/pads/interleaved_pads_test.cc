#include "heddle/cpu/rewrites/pads/interleaved_pads.h"

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
  return join_interleaved_pads(module).value().has_value();
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
  EXPECT_FALSE(is_joined(
      sum_of_pads("f32[2,3]", "0_3_3x0_0_0", "f32[1,3]", "2_5_5x0_0_0", "0", "f32[8,3]")));
  EXPECT_FALSE(is_joined(sum_of_pads("f32[2,3]", "0_4_4x0_0_0", "f32[2,3]", "2_2_4x0_0_0", "0",
                                     "f32[10,3]")));  // most of it is zeros
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
  const hlo::Module joined = join_interleaved_pads(module).value().value();
  EXPECT_EQ(hlo::print_literal(interpreter::evaluate(joined, arguments).value()),
            hlo::print_literal(interpreter::evaluate(module, arguments).value()));
}

// Sums of several for each turn, of three turns of which one has none; the last rows are fewer.
TEST(InterleavedPads, OfManyBecomeOneArray) {
  const hlo::Module module = hlo::parse_text(
                                 "HloModule m\nENTRY main { x = f32[3,2] parameter(0)\n"
                                 " y = f32[2,2] parameter(1)\n z = f32[] constant(0)\n"
                                 " a = f32[8,2] pad(x, z), padding=0_1_2x0_0_0\n"
                                 " b = f32[8,2] pad(x, z), padding=1_0_2x0_0_0\n"
                                 " c = f32[8,2] pad(y, z), padding=2_2_2x0_0_0\n"
                                 " d = f32[8,2] pad(x, z), padding=0_1_2x0_0_0\n"
                                 " ab = f32[8,2] add(a, b)\n abd = f32[8,2] add(ab, d)\n"
                                 " abc = f32[8,2] add(ab, c)\n"
                                 " two = f32[8,2] add(abd, abd)\n ROOT r = (f32[8,2], f32[8,2]) "
                                 "tuple(two, abc) }\n")
                                 .value();
  const std::vector<Literal> arguments = {
      hlo::parse_literal("{{1, -0}, {2, 3}, {nan, 4}}", Shape(f32, {3, 2})).value(),
      hlo::parse_literal("{{5, 6}, {-0, -inf}}", Shape(f32, {2, 2})).value()};
  const hlo::Module joined = join_interleaved_pads(module).value().value();
  EXPECT_EQ(hlo::print_literal(interpreter::evaluate(joined, arguments).value()),
            hlo::print_literal(interpreter::evaluate(module, arguments).value()));
}

}  // namespace
}  // namespace heddle::cpu
