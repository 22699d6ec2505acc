// Products that convert narrow elements as they read them.
#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

using base::cat;

// The bytes of the plan's largest buffer of its own: of c = convert(w), where the product reads it
// from memory.
int64_t largest_of_own(const std::string& lines) {
  int64_t largest = 0;
  const Plan plan = plan_of(lines);
  for (const BufferInfo& buffer : plan.buffers) {
    if (buffer.kind == BufferInfo::Kind::kArena) largest = std::max(largest, buffer.bytes);
  }
  return largest;
}

constexpr int64_t kWide = 64 * 48 * 4;

std::string converted(const std::string& type) {
  return cat(" w = ", type, "[64,48] parameter(0)\n c = f32[64,48] convert(w)\n");
}

TEST(ConvertedProducts, ByVectorsKeepNoWideMatrix) {
  for (const char* type : {"s8", "u8", "s16", "u16", "bf16", "f16"}) {
    SCOPED_TRACE(type);
    EXPECT_LT(largest_of_own(cat(converted(type), " x = f32[48] parameter(1)\n",
                                 " ROOT y = f32[64] dot(c, x), lhs_contracting_dims={1}, "
                                 "rhs_contracting_dims={0}\n")),
              kWide);
    EXPECT_LT(largest_of_own(cat(converted(type), " x = f32[64] parameter(1)\n",
                                 " ROOT y = f32[48] dot(x, c), lhs_contracting_dims={0}, "
                                 "rhs_contracting_dims={0}\n")),
              kWide);
  }
}

// By a matrix, whose columns all read it; by two vectors; of elements that are not narrower.
TEST(ConvertedProducts, OthersReadWideElements) {
  EXPECT_EQ(largest_of_own(cat(converted("s8"), " x = f32[48,9] parameter(1)\n",
                               " ROOT y = f32[64,9] dot(c, x), lhs_contracting_dims={1}, "
                               "rhs_contracting_dims={0}\n")),
            kWide);
  EXPECT_EQ(largest_of_own(cat(converted("s8"), " x = f32[48] parameter(1)\n",
                               " z = f32[64] parameter(2)\n",
                               " a = f32[64] dot(c, x), lhs_contracting_dims={1}, "
                               "rhs_contracting_dims={0}\n",
                               " b = f32[48] dot(z, c), lhs_contracting_dims={0}, "
                               "rhs_contracting_dims={0}\n",
                               " ROOT t = (f32[64], f32[48]) tuple(a, b)\n")),
            kWide);
  EXPECT_EQ(largest_of_own(cat(converted("s64"), " x = f32[48] parameter(1)\n",
                               " ROOT y = f32[64] dot(c, x), lhs_contracting_dims={1}, "
                               "rhs_contracting_dims={0}\n")),
            kWide);
}

}  // namespace
}  // namespace heddle::cpu
