
#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

class ShapeText : public ::testing::TestWithParam<std::string_view> {};

TEST_P(ShapeText, ComesBackAsItWas) {
  auto shape = parse_shape(GetParam());
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(print_shape(*shape), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ShapeText,
    ::testing::Values(
        "f32[]", "pred[0]{0}", "f8e4m3b11fnuz[2,3]{1,0}", "c128[2,3]{0,1}", "f32[<=10,3]{1,0}",
        "f32[?,3]{1,0}",
        "s4[5,6]{1,0:T(8,128)(*,2)L(4)#(u32)*(u64)E(4)S(3)SC(1:2,4)(0:1)P(f32[5])M(16)}",
        "f32[2,3]{1,0:D(D,C)}", "f32[]{:S(2)}", "()", "(f32[2]{0}, (s32[], token[]), ())",
        "token[]", "opaque[]", "b(f32[4]{0})",
        "(s1[], u1[], s2[], u2[], s4[], /*index=5*/u4[], f4e2m1fn[])"));

TEST(ShapeText, FillsALayoutThatIsLeftOut) {
  EXPECT_EQ(print_shape(*parse_shape("(f32[2,3,4], f32[])")), "(f32[2,3,4]{2,1,0}, f32[])");
}

TEST(ShapeText, AllowsBlanksAndComments) {
  EXPECT_EQ(print_shape(*parse_shape(" ( f32 [ 2 , /*dim*/ 3 ]{ 0 , 1 } , pred[] ) ")),
            "(f32[2,3]{0,1}, pred[])");
}

struct Bad {
  std::string_view text;
  std::string_view error;
};

class BadShapeText : public ::testing::TestWithParam<Bad> {};

TEST_P(BadShapeText, IsRefused) {
  auto shape = parse_shape(GetParam().text);
  ASSERT_FALSE(shape.ok());
  EXPECT_THAT(base::message_of(shape.status()), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Forms, BadShapeText,
    ::testing::Values(Bad{"f33[2]", "1:1: expected a shape but found 'f33'"},
                      Bad{"tuple[]", "1:1: expected a shape"},
                      Bad{"f32[2", "1:6: expected ',' but the text ends"},
                      Bad{"f32[-2]", "1:7: a dimension is negative"},
                      Bad{"f32[2]{1}", "layout {1} is no permutation"},
                      Bad{"f32[2,3]{0}", "layout {0} is no permutation"},
                      Bad{"f32[2]{0:X(3)}", "1:10: expected a property of a layout"},
                      Bad{"f32[2] x", "1:8: expected the end but found 'x'"},
                      Bad{"f32[4611686018427387904]", "larger than 2^62 bytes"},
                      Bad{"f32[9223372036854775808]", "does not fit 64 bits"},
                      Bad{"token[2]", "1:7: expected ']' but found '2'"},
                      Bad{"(f32[2],, s32[])", "1:9: expected a shape but found ','"}));

TEST(ShapeText, RefusesMoreThanSixtyFourDimensions) {
  std::string text = "f32[1";
  for (int i = 0; i < 64; ++i) text += ",1";
  auto shape = parse_shape(text + "]");
  ASSERT_FALSE(shape.ok());
  EXPECT_THAT(base::message_of(shape.status()), HasSubstr("rank is more than 64"));
}

TEST(ShapeText, RefusesDeepTuplesBeforeTheStackOverflows) {
  auto shape = parse_shape(std::string(1000000, '('));
  ASSERT_FALSE(shape.ok());
  EXPECT_THAT(base::message_of(shape.status()), HasSubstr("tuples nest deeper than 64"));
}

}  // namespace
}  // namespace heddle::hlo
