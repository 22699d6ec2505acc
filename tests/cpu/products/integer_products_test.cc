// Convolutions of integers and dots of truths, which are exact.
#include "heddle/cpu/rewrites/products/integer_products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string convolution(const std::string& x, const std::string& w, const std::string& y,
                        const std::string& rest) {
  return cat("HloModule m\nENTRY e { x = ", x, " parameter(0)\n w = ", w,
             " parameter(1)\n ROOT y = ", y, " convolution(x, w), ", rest, " }");
}

int64_t count(const std::string& text, hlo::Opcode opcode) {
  const hlo::Module written = expand_integer_products(hlo::parse_text(text).value()).value();
  return std::ranges::count(written.entry_computation().instructions, opcode,
                            &hlo::Instruction::opcode);
}

TEST(CpuIntegerProducts, ConvolutionsOfFewPointsAreSums) {
  for (const std::string type : {"s8", "u8", "s16", "s32", "u32"}) {
    const std::string text =
        convolution(type + "[2,1,9,7]", type + "[1,1,3,3]", type + "[2,1,9,7]",
                    "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01");
    EXPECT_EQ(count(text, hlo::Opcode::kConvolution), 0);
    expect_as_evaluated(text);
    // Strides, dilations of both and a reversal, features last, and more of them.
    expect_as_evaluated(convolution(
        type + "[2,9,7,3]", type + "[2,3,3,4]", type + "[2,7,4,4]",
        "window={size=2x3 stride=2x2 pad=1_0x1_2 lhs_dilate=2x1 rhs_dilate=4x1 rhs_reversal=1x0}, "
        "dim_labels=b01f_01io->b01f"));
  }
  expect_as_evaluated(convolution("s8[3,1,50]", "s8[1,1,5]", "s32[3,1,46]",
                                  "window={size=5}, dim_labels=bf0_oi0->bf0"));
  // The result's dimensions in another order.
  expect_as_evaluated(convolution("s32[5,6,2,3]", "s32[2,2,2,4]", "s32[4,3,4,5]",
                                  "window={size=2x2}, dim_labels=01fb_01io->fb01"));
}

TEST(CpuIntegerProducts, OthersAreConvolutionsOfFloats) {
  for (const std::string type : {"s8", "u8", "s16", "s32", "u32"}) {
    for (const std::string& result : {type, std::string("s32")}) {
      const std::string text =
          convolution(type + "[2,9,7,8]", type + "[3,3,8,5]", result + "[2,9,7,5]",
                      "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f");
      EXPECT_EQ(count(text, hlo::Opcode::kConvolution), type.ends_with("32") ? 3 : 1);
      expect_as_evaluated(text);
    }
  }
  EXPECT_EQ(count(convolution("s64[2,9,7,8]", "s64[3,3,8,5]", "s64[2,7,5,5]",
                              "window={size=3x3}, dim_labels=b01f_01io->b01f"),
                  hlo::Opcode::kConvert),
            0)
      << "s64 stays";
}

TEST(CpuIntegerProducts, FourBitsWrap) {
  for (const std::string type : {"s4", "u4"}) {
    expect_as_evaluated(cat("HloModule m\nENTRY e { x = ", type, "[3,40] parameter(0)\n i = ", type,
                            "[3,40] iota(), iota_dimension=1\n a = s32[3,40] convert(x)\n b = "
                            "s32[3,40] convert(i)\n ROOT z = s32[3,40] add(a, b) }"));
    expect_as_evaluated(cat("HloModule m\nENTRY e { x = ", type, "[6,30] parameter(0)\n y = ", type,
                            "[30,7] parameter(1)\n ROOT z = ", type, "[6,7] dot(x, y), ",
                            "lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
    expect_as_evaluated(cat("HloModule m\nENTRY e { x = ", type, "[6,30] parameter(0)\n y = ", type,
                            "[30,7] parameter(1)\n ROOT z = s32[6,7] dot(x, y), ",
                            "lhs_contracting_dims={1}, rhs_contracting_dims={0} }"));
    expect_as_evaluated(convolution(type + "[2,1,9,7]", type + "[1,1,3,3]", type + "[2,1,7,5]",
                                    "window={size=3x3}, dim_labels=bf01_oi01->bf01"));
  }
}

TEST(CpuIntegerProducts, DotsOfTruths) {
  for (const int k : {0, 1, 5, 200}) {
    const std::string text =
        cat("HloModule m\nENTRY e { x = pred[6,", k, "] parameter(0)\n y = pred[", k,
            ",7] parameter(1)\n ROOT z = pred[6,7] dot(x, y), ",
            "lhs_contracting_dims={1}, rhs_contracting_dims={0} }");
    expect_as_evaluated(text);
  }
}

}  // namespace
}  // namespace heddle::cpu
