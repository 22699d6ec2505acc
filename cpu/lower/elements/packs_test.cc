#include "heddle/cpu/lower/elements/packs.h"

#include <gtest/gtest.h>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

using base::cat;

// Four products p0 .. p3 of lanes of two vectors, and `lines` that make a scalar r of them.
int32_t lanes_of_products(const std::string& lines) {
  std::string text = " x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n";
  for (int i = 0; i < 4; ++i) {
    for (const char* from : {"x", "y"}) {
      text += cat(" s", from, i, " = f32[1] slice(", from, "), slice={[", i, ":", i + 1, "]}\n ",
                  from, i, " = f32[] reshape(s", from, i, ")\n");
    }
  }
  for (int i = 0; i < 4; ++i) text += cat(" p", i, " = f32[] multiply(x", i, ", y", 3 - i, ")\n");
  return most_lanes(plan_of(text + lines), Op::kMul);
}

TEST(Packs, OfOneOperationBetweenScalarsAreNone) {
  EXPECT_EQ(lanes_of_products(" a = f32[] add(p0, p1)\n b = f32[] subtract(a, p2)\n"
                              " c = f32[] add(b, p3)\n d = f32[] subtract(c, p0)\n"
                              " ROOT r = f32[] add(d, p1)\n"),
            1);
}

TEST(Packs, GoOnFromLanesToLanes) {
  std::string lines;
  for (int i = 0; i < 4; ++i) lines += cat(" q", i, " = f32[] add(p", i, ", x0)\n");
  EXPECT_EQ(lanes_of_products(lines + " a = f32[] add(q0, q1)\n b = f32[] subtract(a, q2)\n"
                                      " ROOT r = f32[] add(b, q3)\n"),
            4);
}

}  // namespace
}  // namespace heddle::cpu
