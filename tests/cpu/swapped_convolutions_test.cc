// Convolutions whose window is greater than their image.
#include "heddle/cpu/rewrites/swapped_convolutions.h"

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
    return std::ranges::count(module.entry_computation().instructions, opcode,
                              &hlo::Instruction::opcode);
  };
  const auto window_of = [](const hlo::Module& module) {
    const auto& instructions = module.entry_computation().instructions;
    return std::ranges::find(instructions, hlo::Opcode::kConvolution, &hlo::Instruction::opcode)
        ->attrs.get<hlo::ConvolutionAttrs>()
        .window;
  };
  return {window_of(before) != window_of(after),
          all(after, hlo::Opcode::kReverse) - all(before, hlo::Opcode::kReverse)};
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
      {convolution("[2,3,5]", "[7,3,9]", "[2,7,9]", "size=9 pad=6_6", "bf0_oi0->bf0"), {true, 1}},
      // Strides, groups, and images that are as great.
      {convolution(image, kernel, "[2,6,5,5]", "size=9x8 stride=2x2 pad=8_8x7_7", labels), {}},
      {convolution("[2,4,9]", "[7,4,9]", "[2,7,9]", "size=9 pad=4_4", "bf0_oi0->bf0"), {}},
      {cat("HloModule m\nENTRY e {\n x = f32[2,4,3] parameter(0)\n w = f32[6,2,9] parameter(1)\n"
           " ROOT y = f32[2,6,9] convolution(x, w), window={size=9 pad=7_7}, "
           "dim_labels=bf0_oi0->bf0, feature_group_count=2 }"),
       {}},
  };
}

TEST(SwappedConvolutions, TheLesserOneIsTheWindow) {
  for (const Case& c : cases()) EXPECT_EQ(found(c.text), c.wanted) << c.text;
}

TEST(SwappedConvolutions, HaveTheConvolutionsValues) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.text);
    expect_as_evaluated(c.text, {.share = 1e-5});
  }
}

}  // namespace
}  // namespace heddle::cpu
