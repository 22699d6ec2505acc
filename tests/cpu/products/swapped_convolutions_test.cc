// Convolutions whose window is greater than their image.
#include "heddle/cpu/rewrites/products/swapped_convolutions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// `reversed`: the dimensions of w that are reversed before; none where it is empty.
std::string convolution(const std::string& x, const std::string& w, const std::string& y,
                        const std::string& window, const std::string& labels,
                        const std::string& reversed = "") {
  return cat("HloModule m\nENTRY e {\n x = f32", x, " parameter(0)\n w = f32", w, " parameter(1)\n",
             reversed.empty() ? "" : cat(" v = f32", w, " reverse(w), dimensions=", reversed, "\n"),
             " ROOT y = f32", y, " convolution(x, ", reversed.empty() ? "w" : "v", "), window={",
             window, "}, dim_labels=", labels, " }");
}

// Whether the places of the window are then those of the image, and how often the result turns.
struct Found {
  bool swaps = false;
  int64_t reversals = 0;
  bool operator==(const Found&) const = default;
};
Found found(const std::string& text) {
  const hlo::Module before = hlo::parse_text(text).value();
  const hlo::Module after = swap_convolutions(before).value();
  const auto all = [](const hlo::Module& module, hlo::Opcode opcode) {
    std::vector<hlo::Instruction> out;
    for (const hlo::Computation& computation : module.computations)
      std::ranges::copy_if(computation.instructions, std::back_inserter(out),
                           [&](const hlo::Instruction& i) { return i.opcode == opcode; });
    return out;
  };
  const auto window_of = [](const hlo::Instruction& i) {
    return i.attrs.get<hlo::ConvolutionAttrs>().window;
  };
  const auto old = window_of(all(before, hlo::Opcode::kConvolution).at(0));
  return {std::ranges::any_of(all(after, hlo::Opcode::kConvolution),
                              [&](const hlo::Instruction& i) { return window_of(i) != old; }),
          std::ssize(all(after, hlo::Opcode::kReverse)) -
              std::ssize(all(before, hlo::Opcode::kReverse))};
}

struct Case {
  std::string text;
  Found wanted;
};
std::vector<Case> cases() {
  const std::string image = "[3,3,5,4]", kernel = "[2,9,8,4]", labels = "01bf_o01i->f01b";
  return {
      {convolution(image, kernel, "[2,11,10,5]", "size=9x8 pad=8_8x7_7", labels), {true, 1}},
      {convolution(image, kernel, "[2,11,10,5]", "size=9x8 pad=8_8x7_7", labels, "{1,2}"),
       {true, 0}},
      {convolution(image, kernel, "[2,11,10,5]", "size=9x8 pad=8_8x7_7 rhs_reversal=1x1", labels),
       {true, 0}},
      {convolution(image, kernel, "[2,11,10,5]", "size=9x8 pad=8_8x7_7 rhs_reversal=0x1", labels),
       {true, 1}},
      {convolution(image, kernel, "[2,11,10,5]", "size=9x8 pad=8_8x7_7", labels, "{1}"), {true, 1}},
      {convolution(image, kernel, "[2,8,11,5]", "size=9x8 pad=9_4x6_9", labels), {true, 1}},
      {convolution(image, kernel, "[2,5,5,5]", "size=9x8 pad=5_3x3_4 lhs_dilate=2x2 rhs_dilate=1x1",
                   labels),
       {true, 1}},
      {convolution(image, kernel, "[2,3,9,5]",
                   "size=9x8 pad=8_8x10_10 rhs_dilate=2x2 rhs_reversal=1x1", labels),
       {true, 0}},
      {convolution("[2,3,5]", "[7,3,21]", "[2,7,9]", "size=21 pad=12_12", "bf0_oi0->bf0"),
       {true, 1}},
      // No zeros are added: places of the window that lie inside of the image alone.
      {convolution("[2,3,5]", "[7,3,21]", "[2,7,17]", "size=21 pad=16_16", "bf0_oi0->bf0"),
       {true, 1}},
      // Strides, groups, images that are nearly as great, and large ones.
      {convolution("[2,3,5]", "[7,3,19]", "[2,7,9]", "size=19 pad=11_11", "bf0_oi0->bf0"), {}},
      {convolution("[2,3,26]", "[7,3,120]", "[2,7,9]", "size=120 pad=51_51", "bf0_oi0->bf0"), {}},
      {convolution(image, kernel, "[2,6,5,5]", "size=9x8 stride=2x2 pad=8_8x7_7", labels), {}},
      {convolution("[2,4,9]", "[7,4,9]", "[2,7,9]", "size=9 pad=4_4", "bf0_oi0->bf0"), {}},
      {cat("HloModule m\nENTRY e {\n x = f32[2,4,3] parameter(0)\n w = f32[6,2,19] parameter(1)\n"
           " ROOT y = f32[2,6,9] convolution(x, w), window={size=19 pad=12_12}, "
           "dim_labels=bf0_oi0->bf0, feature_group_count=2 }"),
       {}},
  };
}

TEST(SwappedConvolutions, TheLesserOneIsTheWindow) {
  for (const Case& c : cases()) EXPECT_EQ(found(c.text), c.wanted) << c.text;
}

TEST(SwappedConvolutions, HaveTheConvolutionsValues) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text);
    expect_as_evaluated(c.text, {.share = 1e-5});
  }
  for (const char* dtype : {"f64", "bf16", "f8e5m2", "s32", "c64"}) {
    SCOPED_TRACE(dtype);
    std::string text = cases()[0].text;
    for (size_t at = text.find("f32"); at != text.npos; at = text.find("f32"))
      text.replace(at, 3, dtype);
    EXPECT_TRUE(found(text).swaps);
    expect_as_evaluated(text, {.share = 2e-2});  // floats of 8 bits
  }
}

// One infinite element of the image reaches the places that see it, and no other.
TEST(SwappedConvolutions, KeepAnInfiniteElementWhereItWas) {
  expect_as_evaluated(R"(HloModule m
ENTRY e {
 x = f32[1,2,1] parameter(0)
 w = f32[9,1,3] parameter(1)
 n = s32[1,2,1] iota(), iota_dimension=1
 one = s32[] constant(1)
 ones = s32[1,2,1] broadcast(one), dimensions={}
 p = pred[1,2,1] compare(n, ones), direction=EQ
 i = f32[] constant(inf)
 is = f32[1,2,1] broadcast(i), dimensions={}
 z = f32[1,2,1] select(p, is, x)
 a = f32[9,1,3] abs(w)
 ROOT y = f32[1,8,3] convolution(z, a), window={size=9 pad=8_6}, dim_labels=b0f_0io->b0f
})",
                      {.share = 1e-5});
}

}  // namespace
}  // namespace heddle::cpu
