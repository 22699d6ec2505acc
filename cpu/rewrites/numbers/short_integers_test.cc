#include "heddle/cpu/rewrites/numbers/short_integers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"

namespace heddle::cpu {
namespace {

using base::cat;

// The comparisons of 32 bits in a program without parameters, whose value stays the same.
int64_t short_comparisons(const std::string& lines) {
  const hlo::Module module =
      hlo::parse_text(cat("HloModule m\nENTRY e {\n", lines, "\n}\n")).value();
  const hlo::Module shortened = shorten_integers(module).value();
  EXPECT_EQ(interpreter::evaluate(shortened, {}).value(),
            interpreter::evaluate(module, {}).value());
  const hlo::Computation& entry = shortened.entry_computation();
  return std::ranges::count_if(entry.instructions, [&](const hlo::Instruction& each) {
    return each.opcode == hlo::Opcode::kCompare && entry.at(each.operands[0]).shape.dtype() == s32;
  });
}

std::string positions(int64_t scale) {
  return cat("  i = s64[40] iota(), iota_dimension=0\n  n = s64[] constant(", scale,
             ")\n  m = s64[40] broadcast(n), dimensions={}\n  j = s64[40] multiply(i, m)\n");
}
std::string compared(const std::string& a, const std::string& b) {
  return cat("  ROOT r = pred[40] compare(", a, ", ", b, "), direction=GT");
}

TEST(ShortIntegers, AreOfPositionsAndConstants) {
  EXPECT_EQ(short_comparisons(positions(3) + compared("j", "m")), 1);
  EXPECT_EQ(short_comparisons(positions(-3) + compared("m", "j")), 1);
  EXPECT_EQ(short_comparisons(positions(3) + "  d = s64[40] subtract(i, j)\n" + compared("d", "m")),
            1);
  EXPECT_EQ(short_comparisons("  i = s64[8] iota(), iota_dimension=0\n  r = s64[8,8] broadcast(i), "
                              "dimensions={0}\n  c = s64[8,8] broadcast(i), dimensions={1}\n"
                              "  ROOT p = pred[8,8] compare(r, c), direction=GE"),
            1);
}

TEST(ShortIntegers, AreOfNarrowerTypes) {
  EXPECT_EQ(short_comparisons(positions(1) +
                              "  h = s16[40] iota(), iota_dimension=0\n  w = s64[40] "
                              "convert(h)\n" +
                              compared("w", "i")),
            1);
}

TEST(ShortIntegers, AreNoneWhereOneMayNotFit) {
  EXPECT_EQ(short_comparisons(positions(int64_t{1} << 26) + compared("j", "i")), 0);
  EXPECT_EQ(short_comparisons(positions(int64_t{1} << 31) + compared("i", "m")), 0);
  EXPECT_EQ(short_comparisons(positions(1) +
                              "  h = s32[40] iota(), iota_dimension=0\n  w = s64[40] "
                              "convert(h)\n  v = s64[40] add(w, i)\n" +
                              compared("v", "i")),
            0);
  EXPECT_EQ(short_comparisons(positions(1) +
                              "  h = u32[40] iota(), iota_dimension=0\n  w = s64[40] "
                              "convert(h)\n" +
                              compared("w", "i")),
            0);
  EXPECT_EQ(short_comparisons("  a = s64[] constant(1)\n  ROOT r = pred[] compare(a, a), "
                              "direction=EQ"),
            0)
      << "a scalar gains nothing";
}

struct CutSum {
  std::string from, wide, to, start = "0", op = "add";
};

// The type in which the sum of a `from`[3,40] in `wide`, which is cut to `to`, is taken.
std::string type_of_sum(const CutSum& of) {
  const std::string scalar = cat(of.wide, "[]"), matrix = cat(of.from, "[3,40]");
  const std::string text = cat(
      "HloModule m\nf {\n  a = ", scalar, " parameter(0)\n  b = ", scalar,
      " parameter(1)\n  ROOT r = ", scalar, " ", of.op, "(a, b)\n}\nENTRY e {\n  i = ", matrix,
      " iota(), iota_dimension=1\n  n = ", matrix, " multiply(i, i)\n  w = ", of.wide,
      "[3,40] convert(n)\n  z = ", scalar, " constant(", of.start, ")\n  s = ", of.wide,
      "[40] reduce(w, z), dimensions={0}, to_apply=f\n  ROOT c = ", of.to, "[40] convert(s)\n}\n");
  const hlo::Module module = hlo::parse_text(text).value();
  const hlo::Module shortened = shorten_integers(module).value();
  EXPECT_EQ(interpreter::evaluate(shortened, {}).value(),
            interpreter::evaluate(module, {}).value());
  const hlo::Computation& entry = shortened.entry_computation();
  const hlo::Instruction& root = entry.root_instruction();
  const bool is_sum = root.opcode == hlo::Opcode::kReduce;
  return std::string(to_string((is_sum ? root : entry.at(root.operands[0])).shape.dtype()));
}

TEST(ShortIntegers, AreOfSumsThatAreCut) {
  EXPECT_EQ(type_of_sum({"u8", "u64", "u8"}), "u8");
  EXPECT_EQ(type_of_sum({"s8", "s64", "u8"}), "u8");
  EXPECT_EQ(type_of_sum({"u8", "u32", "s16"}), "s16");
  EXPECT_EQ(type_of_sum({"s32", "s64", "s32"}), "s32");
  EXPECT_EQ(type_of_sum({"u16", "u64", "u8"}), "u64");                 // the numbers are wider
  EXPECT_EQ(type_of_sum({"u8", "u8", "u32"}), "u8");                   // the sum is not cut
  EXPECT_EQ(type_of_sum({"u8", "u64", "f32"}), "u64");                 // nor here
  EXPECT_EQ(type_of_sum({"u8", "u64", "u8", "300"}), "u64");           // another start
  EXPECT_EQ(type_of_sum({"u8", "u64", "u8", "0", "maximum"}), "u64");  // not a sum
}

TEST(ShortIntegers, OfLongChainsAreLeft) {
  std::string lines = positions(1), last = "i";
  for (int k = 0; k < 3000; ++k) {
    lines += cat("  a", k, " = s64[40] add(", last, ", m)\n");
    last = cat("a", k);
  }
  EXPECT_EQ(short_comparisons(lines + compared(last, "m")), 0);
}

}  // namespace
}  // namespace heddle::cpu
