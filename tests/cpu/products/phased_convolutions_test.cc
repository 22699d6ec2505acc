// Transposed convolutions: those of an image with holes between its elements.
#include "heddle/cpu/rewrites/products/phased_convolutions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string convolution(const std::string& x, const std::string& w, const std::string& y,
                        const std::string& window, const std::string& labels,
                        const std::string& dtype = "f32") {
  return cat("HloModule m\nENTRY e {\n x = ", dtype, x, " parameter(0)\n w = ", dtype, w,
             " parameter(1)\n ROOT y = ", dtype, y, " convolution(x, w), window={", window,
             "}, dim_labels=", labels, " }");
}

bool joins(const std::string& text) {
  const hlo::Module module = join_phases(hlo::parse_text(text).value()).value();
  return std::ranges::none_of(
      module.entry_computation().instructions, [](const hlo::Instruction& i) {
        if (i.opcode != hlo::Opcode::kConvolution) return false;
        const auto& windows = i.attrs.get<hlo::ConvolutionAttrs>().window.dimensions;
        return std::ranges::any_of(
            windows, [](const hlo::WindowDimension& d) { return d.base_dilation > 1; });
      });
}

TEST(PhasedConvolutions, OfAFewFeaturesHaveNoHoles) {
  const auto one = [](const char* w, const char* y, const char* window) {
    return joins(convolution("[2,9,5]", w, y, window, "b0f_0io->b0f"));
  };
  EXPECT_TRUE(one("[4,5,3]", "[2,18,3]", "size=4 pad=2_2 lhs_dilate=2"));
  EXPECT_TRUE(one("[4,5,16]", "[2,18,16]", "size=4 pad=2_2 lhs_dilate=2"));
  EXPECT_TRUE(one("[3,5,8]", "[2,17,8]", "size=3 pad=1_1 lhs_dilate=2"));
  EXPECT_FALSE(one("[3,5,9]", "[2,17,9]", "size=3 pad=1_1 lhs_dilate=2"));
  EXPECT_TRUE(one("[3,5,3]", "[2,17,3]", "size=3 pad=1_1 lhs_dilate=2"));
  EXPECT_TRUE(one("[2,5,3]", "[2,26,3]", "size=2 pad=1_1 lhs_dilate=3"));  // zeros between
  EXPECT_FALSE(one("[4,5,17]", "[2,18,17]", "size=4 pad=2_2 lhs_dilate=2"));
  EXPECT_FALSE(one("[4,5,3]", "[2,9,3]", "size=4 pad=2_2 stride=2 lhs_dilate=2"));
  EXPECT_FALSE(one("[4,5,3]", "[2,15,3]", "size=4 pad=2_2 lhs_dilate=2 rhs_dilate=2"));
}

TEST(PhasedConvolutions, HaveTheConvolutionsValues) {
  const auto expect = [](const std::string& text, double share = 1e-5) {
    SCOPED_TRACE(text);
    EXPECT_TRUE(joins(text));
    expect_as_evaluated(text, {.share = share});
  };
  // Each length of a window for each number of phases, and each place where the first one begins.
  for (const int64_t s : {2, 3, 4}) {
    for (const int64_t size : {1, 2, 3, 4, 5, 7}) {
      for (const int64_t low : {-4, -1, 0, 1, 2, 3, 6}) {
        const int64_t places = (9 - 1) * s + 1 + low + 3 - size + 1;
        for (const char* reversal : {"", " rhs_reversal=1"})
          expect(convolution("[2,9,5]", cat("[", size, ",5,3]"), cat("[2,", places, ",3]"),
                             cat("size=", size, " pad=", low, "_3 lhs_dilate=", s, reversal),
                             "b0f_0io->b0f"),
                 1e-5);
      }
    }
  }
  const std::string window = "size=3x4 pad=1_2x2_1 lhs_dilate=2x3";
  expect(convolution("[2,5,6,4]", "[3,4,4,3]", "[2,10,16,3]", window, "b01f_01io->b01f"));
  expect(convolution("[2,4,5,6]", "[3,4,3,4]", "[2,3,10,16]", window, "bf01_oi01->bf01"));
  expect(convolution("[2,4,5,6]", "[4,3,3,4]", "[10,2,16,3]", window, "bf01_io01->0b1f"));
  // One dimension has no holes, or they lie along all of three.
  expect(convolution("[2,5,6,4]", "[3,4,4,3]", "[2,6,16,3]", "size=3x4 pad=1_2x2_1 lhs_dilate=1x3",
                     "b01f_01io->b01f"));
  expect(convolution("[1,3,4,5,2]", "[2,2,3,2,3]", "[1,6,8,10,3]",
                     "size=2x2x3 pad=1_1x1_1x1_2 lhs_dilate=2x2x2", "b012f_012io->b012f"));
  expect(convolution("[2,5,6,4]", "[3,4,4,3]", "[2,10,16,3]", window, "b01f_01io->b01f", "f64"),
         1e-13);
  expect(convolution("[2,5,6,4]", "[3,4,4,3]", "[2,10,16,3]", window, "b01f_01io->b01f", "bf16"),
         2e-2);
  expect(convolution("[2,5,6,4]", "[3,4,4,3]", "[2,10,16,3]", window, "b01f_01io->b01f", "s32"), 0);
  expect(convolution("[2,5,6,4]", "[3,4,4,3]", "[2,10,16,3]", window, "b01f_01io->b01f", "c64"));
}

// Of windows that are no whole number of phases: an infinite element reaches what sees it alone.
TEST(PhasedConvolutions, KeepAnInfiniteElementWhereItWas) {
  for (const int64_t size : {3, 4, 5}) {
    SCOPED_TRACE(size);
    expect_as_evaluated(
        cat("HloModule m\nENTRY e {\n x = f32[1,4,1] parameter(0)\n w = f32[", size,
            ",1,3] parameter(1)\n n = s32[1,4,1] iota(), iota_dimension=1\n"
            " two = s32[] constant(2)\n twos = s32[1,4,1] broadcast(two), dimensions={}\n"
            " p = pred[1,4,1] compare(n, twos), direction=EQ\n i = f32[] constant(inf)\n"
            " is = f32[1,4,1] broadcast(i), dimensions={}\n z = f32[1,4,1] select(p, is, x)\n"
            " one = f32[] constant(1)\n a = f32[",
            size, ",1,3] abs(w)\n ones = f32[", size,
            ",1,3] broadcast(one), dimensions={}\n v = f32[", size,
            ",1,3] add(a, ones)\n"
            " ROOT y = f32[1,7,3] convolution(z, v), window={size=",
            size, " pad=", size - 1, "_0 lhs_dilate=2}, dim_labels=b0f_0io->b0f }"),
        {.share = 1e-5});
  }
}

}  // namespace
}  // namespace heddle::cpu
