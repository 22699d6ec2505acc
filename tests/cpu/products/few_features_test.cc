// Convolutions that give few features, as products for each tap.
#include "heddle/cpu/rewrites/products/few_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;
using ::testing::HasSubstr;
using ::testing::Not;

struct Case {
  std::string x, w, y, window, labels;
};

std::string program(const std::string& type, const Case& c) {
  return cat("HloModule m\nENTRY e {\n x = ", type, "[", c.x, "] parameter(0)\n w = ", type, "[",
             c.w, "] parameter(1)\n ROOT y = ", type, "[", c.y, "] convolution(x, w), window={",
             c.window, "}, dim_labels=", c.labels, "\n}");
}

std::string written(const std::string& text) {
  return hlo::print(multiply_taps(hlo::parse_text(text).value()).value());
}

TEST(FewFeatures, AreTheSumsOfTheirTaps) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  const Case cases[] = {
      {"2,20,21,8", "3,2,8,3", "2,20,20,3", "size=3x2 pad=1_1x0_0", "b01f_01io->b01f"},
      {"2,8,20,21", "3,8,3,2", "2,3,20,20", "size=3x2 pad=1_1x0_0", "bf01_oi01->bf01"},
      {"20,9,21,2", "9,3,3,1", "1,23,20,2", "size=3x3 pad=0_2x2_2", "0f1b_i01o->f10b"},
      {"2,20,20,8", "3,3,8,2", "2,18,16,2", "size=3x3 pad=1_1x0_0 rhs_dilate=2x2",
       "b01f_01io->b01f"},
      {"2,20,20,8", "3,2,8,2", "2,18,19,2", "size=3x2 rhs_reversal=1x1", "b01f_01io->b01f"},
      {"1,300,8", "5,8,1", "1,300,1", "size=5 pad=2_2", "b0f_0io->b0f"},
      {"2,8,7,9,16", "2,3,2,16,4", "2,7,7,8,4", "size=2x3x2 pad=0_0x1_1x0_0", "b012f_012io->b012f"},
  };
  for (const std::string type : {"f32", "f64"}) {
    for (const Case& c : cases) {
      const std::string text = program(type, c);
      EXPECT_THAT(written(text), Not(HasSubstr("convolution("))) << text;
      expect_as_evaluated(text, {.share = 1e-6});
    }
  }
}

TEST(FewFeatures, OthersStayConvolutions) {
  const Case cases[] = {
      {"2,20,20,8", "3,3,8,9", "2,20,20,9", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
      {"2,20,20,7", "3,3,7,2", "2,20,20,2", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
      {"2,20,20,8", "1,1,8,2", "2,20,20,2", "size=1x1", "b01f_01io->b01f"},
      {"2,41,41,8", "3,3,8,2", "2,20,20,2", "size=3x3 stride=2x2", "b01f_01io->b01f"},
      {"2,20,20,8", "3,3,8,2", "2,37,37,2", "size=3x3 lhs_dilate=2x2", "b01f_01io->b01f"},
      {"2,20,20,8", "3,3,8,2", "2,16,16,2", "size=3x3 pad=-1_-1x-1_-1", "b01f_01io->b01f"},
      {"1,4,4,8", "3,3,8,2", "1,4,4,2", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f"},
  };
  for (const Case& c : cases)
    EXPECT_THAT(written(program("f32", c)), HasSubstr("convolution(")) << c.y;
  EXPECT_THAT(written(program("bf16", {"2,20,20,8", "3,3,8,2", "2,20,20,2", "size=3x3 pad=1_1x1_1",
                                       "b01f_01io->b01f"})),
              HasSubstr("convolution("));
}

}  // namespace
}  // namespace heddle::cpu
