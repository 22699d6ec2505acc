// Convolutions whose spatial dimensions lie last, computed with their features last.
#include "heddle/cpu/rewrites/products/channels_last.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/rewrites/shapes/late_transposes.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"
#include "heddle/transform/pass.h"

namespace heddle::cpu {
namespace {

using base::cat;

constexpr Allowed kRounded = {.share = 1e-5};

std::string convolution(const std::string& x, const std::string& w, const std::string& y,
                        const std::string& rest, const std::string& type = "f32") {
  return cat("HloModule m\nENTRY main {\n x = ", type, x, " parameter(0)\n w = ", type, w,
             " parameter(1)\n ROOT y = ", type, y, " convolution(x, w), ", rest, " }");
}

// The convolution's dimension numbers, or nothing where it stays as it is.
std::string moved(const std::string& text) {
  const hlo::Module now = put_channels_last(hlo::parse_text(text).value()).value();
  const std::string out = hlo::print(now);
  if (out.find("transpose(") == std::string::npos) return "";
  const size_t labels = out.find("dim_labels=");
  return out.substr(labels + 11, out.find_first_of(", \n}", labels + 11) - labels - 11);
}

struct Case {
  const char *x, *w, *y, *rest, *labels;
};
constexpr Case kMoved[] = {
    // Strides, also of few features that a stem takes.
    {"[2,16,12,12]", "[32,16,3,3]", "[2,32,6,6]",
     "window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=bf01_oi01->bf01", "b01f_oi01->b01f"},
    {"[2,3,20,20]", "[32,3,5,5]", "[2,32,10,10]",
     "window={size=5x5 stride=2x2 pad=1_2x1_2}, dim_labels=bf01_oi01->bf01", "b01f_oi01->b01f"},
    // The gradients of a convolution with strides.
    {"[2,32,6,6]", "[32,16,3,3]", "[2,16,12,12]",
     "window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2 rhs_reversal=1x1}, dim_labels=bf01_io01->bf01",
     "b01f_io01->b01f"},
    {"[2,16,12,12]", "[2,32,6,6]", "[32,16,3,3]",
     "window={size=6x6 pad=0_1x0_1 rhs_dilate=2x2}, dim_labels=fb01_io01->fb01", "f01b_i01o->b01f"},
    {"[2,16,12,12]", "[2,32,6,6]", "[16,32,3,3]",
     "window={size=6x6 pad=0_1x0_1 rhs_dilate=2x2}, dim_labels=fb01_io01->bf01", "f01b_i01o->b01f"},
    // Many products for each element.
    {"[1,64,9,9]", "[64,64,3,3]", "[1,64,9,9]",
     "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01", "b01f_oi01->b01f"},
    {"[2,32,5,6,7]", "[32,32,3,3,3]", "[2,32,5,6,7]",
     "window={size=3x3x3 pad=1_1x1_1x1_1}, dim_labels=bf012_oi012->bf012", "b012f_oi012->b012f"},
    {"[2,128,40]", "[128,128,3]", "[2,128,40]", "window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0",
     "b0f_oi0->b0f"},
};

TEST(ChannelsLast, OfConvolutionsThatGain) {
  for (const Case& each : kMoved) {
    const std::string text = convolution(each.x, each.w, each.y, each.rest);
    EXPECT_EQ(moved(text), each.labels) << text;
    expect_as_evaluated(text, kRounded);
  }
  for (const char* type : {"f64", "f16", "bf16"}) {
    const std::string text =
        convolution(kMoved[0].x, kMoved[0].w, kMoved[0].y, kMoved[0].rest, type);
    EXPECT_EQ(moved(text), kMoved[0].labels);
    expect_as_evaluated(text, {.share = type == std::string("f64") ? 1e-13 : 1e-2});
  }
}

TEST(ChannelsLast, OthersStay) {
  const std::string strides = "window={size=3x3 stride=2x2 pad=0_1x0_1}, dim_labels=";
  EXPECT_EQ(
      moved(convolution("[2,12,12,16]", "[3,3,16,32]", "[2,6,6,32]", strides + "b01f_01io->b01f")),
      "")
      << "they lie last";
  EXPECT_EQ(
      moved(convolution("[2,16,12,12]", "[8,16,3,3]", "[2,8,6,6]", strides + "bf01_oi01->bf01")),
      "")
      << "few features";
  EXPECT_EQ(moved(convolution("[2,64,12,12]", "[64,64,1,1]", "[2,64,6,6]",
                              "window={size=1x1 stride=2x2 pad=0_-1x0_-1}, "
                              "dim_labels=bf01_oi01->bf01")),
            "")
      << "one place";
  EXPECT_EQ(moved(convolution("[2,32,12,12]", "[32,16,3,3]", "[2,32,6,6]",
                              strides + "bf01_oi01->bf01, feature_group_count=2")),
            "")
      << "groups";
  EXPECT_EQ(moved(convolution("[1,32,64]", "[32,32,3]", "[1,32,64]",
                              "window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0")),
            "")
      << "few products";
  EXPECT_EQ(moved(convolution("[0,64,9,9]", "[64,64,3,3]", "[0,64,9,9]",
                              "window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01")),
            "")
      << "nothing";
}

// relu(convolution(x)), convolved again: between the two are no transposes.
TEST(ChannelsLast, StayLastBetweenConvolutions) {
  const std::string text =
      "HloModule m\nENTRY main {\n x = f32[2,64,9,9] parameter(0)\n w = f32[64,64,3,3] "
      "parameter(1)\n"
      " v = f32[64,64,3,3] parameter(2)\n a = f32[2,64,9,9] convolution(x, w), window={size=3x3 "
      "pad=1_1x1_1}, dim_labels=bf01_oi01->bf01\n zero = f32[] constant(0)\n z = f32[2,64,9,9] "
      "broadcast(zero), dimensions={}\n r = f32[2,64,9,9] maximum(a, z)\n ROOT y = f32[2,64,9,9] "
      "convolution(r, v), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01 }";
  const hlo::Module last = put_channels_last(hlo::parse_text(text).value()).value();
  const hlo::Module late = transpose_late(last).value().value();
  const hlo::Module flat = transform::run_pipeline(late, transform::kFlattenPipeline).value();
  const auto& instructions = flat.computations.back().instructions;
  EXPECT_EQ(std::ranges::count(instructions, hlo::Opcode::kTranspose, &hlo::Instruction::opcode), 2)
      << hlo::print(flat);
  expect_as_evaluated(text, kRounded);
}

}  // namespace
}  // namespace heddle::cpu
