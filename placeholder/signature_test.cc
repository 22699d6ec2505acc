#include "heddle/placeholder/signature.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

Shape f32(std::vector<int64_t> dimensions) { return Shape(DType::kF32, std::move(dimensions)); }

TEST(Signature, PrintsOnOneLineWhereItFits) {
  const Signature signature = {.name = "loss",
                               .arguments = {{"cell.w", f32({6, 4})}, {"xs", f32({8, 2})}},
                               .captures = {{"b", f32({4})}},
                               .results = {{"", f32({})}}};
  EXPECT_EQ(to_string(signature),
            "loss(cell.w: f32[6,4], xs: f32[8,2]) captures (b: f32[4]) -> (f32[])");
}

TEST(Signature, PrintsALeafALineWhereItIsLong) {
  const Signature signature = {.name = "decoder",
                               .arguments = {{"layers.attention.query", f32({126, 16384, 16384})},
                                             {"layers.mlp.up", f32({126, 16384, 53248})}},
                               .captures = {},
                               .results = {{"logits", f32({128256})}}};
  EXPECT_EQ(to_string(signature),
            "decoder(\n"
            "    layers.attention.query: f32[126,16384,16384],\n"
            "    layers.mlp.up: f32[126,16384,53248])\n"
            "  -> (\n"
            "    logits: f32[128256])");
}

TEST(Signature, WithoutLeavesPrintsEmptyParentheses) {
  EXPECT_EQ(to_string(Signature{.name = "nothing"}), "nothing() -> ()");
}

TEST(Signature, ADifferentTypeOrPathIsAnotherSignature) {
  const Signature a = {.name = "f", .arguments = {{"x", f32({2})}}};
  EXPECT_EQ(a, (Signature{.name = "f", .arguments = {{"x", f32({2})}}}));
  EXPECT_NE(a, (Signature{.name = "f", .arguments = {{"x", f32({3})}}}));
  EXPECT_NE(a, (Signature{.name = "f", .arguments = {{"y", f32({2})}}}));
}

}  // namespace
}  // namespace heddle
