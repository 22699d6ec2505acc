
#include <cstring>
#include <random>

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

Shape shape_of(std::string_view text) { return *parse_shape(text); }

std::string reprint(std::string_view text, std::string_view shape) {
  auto literal = parse_literal(text, shape_of(shape));
  return literal.ok() ? print_literal(*literal) : base::message_of(literal.status());
}

// Elements of the given bits, of a type's own width.
Literal of_bits(DType dtype, const std::vector<uint64_t>& bits) {
  Literal literal = Literal::uninitialised(Shape(dtype, {static_cast<int64_t>(bits.size())}));
  auto size = static_cast<size_t>(storage_bytes(dtype));
  for (size_t i = 0; i < bits.size(); ++i)
    std::memcpy(literal.mutable_bytes() + i * size, &bits[i], size);
  return literal;
}

void expect_back(const Literal& literal) {
  auto back = parse_literal(print_literal(literal), literal.shape());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(*back == literal) << to_string(literal.shape());
}

class SmallType : public ::testing::TestWithParam<DType> {};

TEST_P(SmallType, ReadsBackEveryPattern) {
  std::vector<uint64_t> bits;
  for (uint64_t i = 0; i < uint64_t{1} << bit_width(GetParam()); ++i) {
    bool negative = is_signed(GetParam()) && (i >> (bit_width(GetParam()) - 1)) != 0;
    bits.push_back(negative ? i | ~uint64_t{0} << bit_width(GetParam()) : i);
  }
  expect_back(of_bits(GetParam(), bits));
}

std::string name_of(const ::testing::TestParamInfo<DType>& info) {
  return std::string(to_string(info.param));
}

INSTANTIATE_TEST_SUITE_P(Literals, SmallType,
                         ::testing::Values(s1, u1, s2, u2, s4, u4, s8, u8, s16, u16, f16, bf16,
                                           f8e5m2, f8e4m3fn, f8e4m3b11fnuz, f8e5m2fnuz, f8e4m3fnuz,
                                           f8e4m3, f8e3m4, f4e2m1fn, f8e8m0fnu, pred),
                         name_of);

class WideType : public ::testing::TestWithParam<DType> {};

TEST_P(WideType, ReadsBackRandomBits) {
  std::mt19937_64 random(7);
  Literal literal = Literal::uninitialised(Shape(GetParam(), {20000}));
  for (int64_t i = 0; i + 8 <= literal.byte_size(); i += 8) {
    uint64_t bits = random();
    std::memcpy(literal.mutable_bytes() + i, &bits, 8);
  }
  expect_back(literal);
}

TEST_P(WideType, ReadsBackItsEdges) {
  uint64_t top = uint64_t{1} << (storage_bytes(real_part(GetParam())) * 8 - 1);
  Literal literal = of_bits(real_part(GetParam()),
                            {0, 1, top, top - 1, top + 1, top | (top - 1), top >> 1, ~uint64_t{0}});
  expect_back(literal);
}

INSTANTIATE_TEST_SUITE_P(Literals, WideType,
                         ::testing::Values(s32, u32, s64, u64, f32, f64, c64, c128), name_of);

TEST(LiteralText, PrintsTheFewestDigitsOfTwoTries) {
  EXPECT_EQ(reprint("{0.1, 0.333333333333, 16777217, 1e10, 1e-5, 3.4028235e38}", "f32[6]"),
            "{0.1, 0.333333343, 16777216, 1e+10, 1e-05, 3.40282347e+38}");
  EXPECT_EQ(reprint("{0.1, 0.3333333333333333333, 5e-324}", "f64[3]"),
            "{0.1, 0.33333333333333331, 4.94065645841247e-324}");
  EXPECT_EQ(reprint("{0.1, 65504, 6e-8}", "f16[3]"), "{0.099976, 65504, 5.9605e-08}");
  EXPECT_EQ(reprint("{0.1, 3.39e38}", "bf16[2]"), "{0.1001, 3.39e+38}");
}

TEST(LiteralText, KeepsSignsAndPayloadsOfNan) {
  EXPECT_EQ(reprint("{nan, -nan, nan(0x1), -nan(0x7fffff), inf, -inf, -0}", "f32[7]"),
            "{nan, -nan, nan(0x1), -nan(0x7fffff), inf, -inf, -0}");
  EXPECT_EQ(reprint("{nan, nan(0x1), -nan(0x3)}", "f8e5m2[3]"), "{nan, nan(0x1), -nan(0x3)}");
}

TEST(LiteralText, PrintsPredicatesAsWordsAloneAndAsDigitsInArrays) {
  EXPECT_EQ(reprint("1", "pred[]"), "true");
  EXPECT_EQ(reprint("{true, false, 1, 0}", "pred[4]"), "{1, 0, 1, 0}");
}

TEST(LiteralText, NestsOneBraceADimension) {
  EXPECT_EQ(reprint("{{1,2},{3,4}}", "s32[2,2]"), "{ { 1, 2 }, { 3, 4 } }");
  EXPECT_EQ(reprint("{{1},{2}}", "s32[2,1]"), "{ {1}, {2} }");
  EXPECT_EQ(reprint("{{{{1,2}}},{{{3,4}}}}", "s32[2,1,1,2]"),
            "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 } } }, { /*i0=1*/ { /*i1=0*/ { 3, 4 } } } }");
}

TEST(LiteralText, SpellsOutEmpties) {
  EXPECT_EQ(reprint("{}", "f32[0]"), "{}");
  EXPECT_EQ(reprint("{{},{}}", "f32[2,0]"), "{ {}, {} }");
  EXPECT_EQ(reprint("{}", "f32[2,0]"), "{ {}, {} }");
  EXPECT_EQ(reprint("{}", "f32[0,2]"), "{  }");
  EXPECT_EQ(reprint("{}", "f32[1000000000,1000000000,0]"), "{}");
}

TEST(LiteralText, ReadsTuplesAndComplexNumbers) {
  EXPECT_EQ(reprint("( {1}, 2.5, ( true ), () )", "(s32[1], f32[], (pred[]), ())"),
            "( {1}, 2.5, ( true ), () )");
  EXPECT_EQ(reprint("{(1, -2), (nan, inf)}", "c64[2]"), "{(1, -2), (nan, inf)}");
}

TEST(LiteralText, IsLooseAboutCommas) {
  EXPECT_EQ(reprint("{ {1 2,}, {3,4} }", "s32[2,2]"), "{ { 1, 2 }, { 3, 4 } }");
}

TEST(LiteralText, TakesNoMemoryForAnElidedConstant) {
  auto literal = parse_literal("{...}", shape_of("f32[1000000000,1000000]"));
  ASSERT_TRUE(literal.ok()) << literal.status();
  EXPECT_TRUE(literal->is_elided());
  EXPECT_EQ(print_literal(*literal), "{...}");
}

TEST(LiteralText, ElidesLongConstantsOnRequest) {
  auto literal = parse_literal("{1, 2, 3}", shape_of("s32[3]"));
  EXPECT_EQ(print_literal(*literal, 3), "{1, 2, 3}");
  EXPECT_EQ(print_literal(*literal, 2), "{...}");
  EXPECT_EQ(print_literal(*parse_literal("7", shape_of("s32[]")), 0), "7");
}

struct Bad {
  std::string_view shape;
  std::string_view text;
  std::string_view error;
};

class BadLiteralText : public ::testing::TestWithParam<Bad> {};

TEST_P(BadLiteralText, IsRefused) {
  EXPECT_THAT(reprint(GetParam().text, GetParam().shape), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Literals, BadLiteralText,
    ::testing::Values(
        Bad{"f16[]", "65520", "1:1: 65520 does not fit f16"},
        Bad{"bf16[]", "1e100", "does not fit bf16"}, Bad{"f32[]", "3.5e38", "does not fit f32"},
        Bad{"f64[]", "1e400", "does not fit f64"}, Bad{"f4e2m1fn[]", "8", "does not fit"},
        Bad{"f8e4m3fn[]", "inf", "f8e4m3fn has no infinity"},
        Bad{"f4e2m1fn[]", "nan", "f4e2m1fn has no NaN"}, Bad{"f8e8m0fnu[]", "-1", "does not fit"},
        Bad{"f32[]", "nan(0x0)", "no NaN of this payload"},
        Bad{"f32[]", "nan(0x800000)", "no NaN of this payload"},
        Bad{"f8e4m3fn[]", "nan(0x1)", "no NaN of this payload"},
        Bad{"s4[]", "8", "8 does not fit s4"}, Bad{"s4[]", "-9", "-9 does not fit s4"},
        Bad{"u4[]", "-1", "-1 does not fit u4"}, Bad{"s1[]", "1", "1 does not fit s1"},
        Bad{"u64[]", "18446744073709551616", "does not fit u64"},
        Bad{"s64[]", "-9223372036854775809", "does not fit s64"},
        Bad{"pred[]", "2", "expected true or false"},
        Bad{"s32[]", "1.5", "expected a whole number"},
        Bad{"s32[]", "x", "expected a whole number but found 'x'"},
        Bad{"f32[]", "1x", "expected a number but found '1'"},
        Bad{"f32[]", "{1}", "expected a number but found '{'"},
        Bad{"s32[3]", "{1, 2}",
            "1:6: dimension 0 of the constant has only 2 elements; s32[3] needs 3"},
        Bad{"s32[1]", "{1, 2}", "1:5: dimension 0 of the constant has more than 1 elements"},
        Bad{"s32[2]", "{{1, 2}}", "nests deeper than s32[2]"},
        Bad{"s32[2,1]", "{1, 2}", "expected '{' but found '1'"},
        Bad{"f32[]", "{...}", "expected a number"},
        Bad{"f32[1000000000]", "{1, 2}", "ends before all elements of f32[1000000000]"},
        Bad{"(s32[], s32[])", "(1)", "expected a whole number but found ')'"},
        Bad{"token[]", "1", "a constant cannot be of type token[]"},
        Bad{"f32[<=3]", "{1, 2, 3}", "dynamic size"}));

TEST(LiteralText, WrapsNegativeNumbersInU64) {
  EXPECT_EQ(reprint("-1", "u64[]"), "18446744073709551615");
}

}  // namespace
}  // namespace heddle::hlo
