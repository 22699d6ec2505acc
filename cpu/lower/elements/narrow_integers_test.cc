#include <gtest/gtest.h>

#include "heddle/cpu/lower/support_test.h"

namespace heddle::cpu {
namespace {

using base::cat;

// The lanes of the widest load.
int32_t lanes_of(const std::string& lines, int64_t vector_bytes) {
  const std::string text =
      cat("HloModule m\nf { a = u8[] parameter(0)\n b = u8[] parameter(1)\n"
          " ROOT c = u8[] maximum(a, b) }\nENTRY e {\n",
          lines, "}\n");
  return most_lanes(lowered(text, vector_bytes).plan, Op::kLoad);
}

TEST(NarrowIntegers, FillVectors) {
  for (const int64_t bytes : {16, 32, 64}) {
    EXPECT_EQ(lanes_of(" x = u8[4096] parameter(0)\n ROOT y = u8[4096] add(x, x)\n", bytes), bytes);
    EXPECT_EQ(lanes_of(" x = s16[64,64] parameter(0)\n ROOT y = s16[64,64] add(x, x)\n", bytes),
              bytes / 2);
    EXPECT_EQ(lanes_of(" x = u8[9,2000] parameter(0)\n z = u8[] constant(0)\n"
                       " ROOT y = u8[9] reduce(x, z), dimensions={1}, to_apply=f\n",
                       bytes),
              bytes);
  }
}

TEST(NarrowIntegers, DoNotBesideWiderOnes) {
  EXPECT_EQ(lanes_of(" x = u8[4096] parameter(0)\n ROOT y = f32[4096] convert(x)\n", 64), 16);
  EXPECT_EQ(lanes_of(" x = bf16[4096] parameter(0)\n ROOT y = bf16[4096] add(x, x)\n", 64), 16);
  EXPECT_EQ(lanes_of(" x = u8[4096] parameter(0)\n ROOT y = u8[4096] divide(x, x)\n", 64), 16)
      << "a division takes each lane by itself";
  EXPECT_EQ(lanes_of(" x = u8[64] parameter(0)\n ROOT y = u8[64] add(x, x)\n", 64), 16)
      << "registers may hold so few";
}

// Steps of one loop count together.
TEST(NarrowIntegers, AndFloatsThatOnlyMoveFillVectors) {
  EXPECT_EQ(lanes_of(" x = u8[9,2000] parameter(0)\n ROOT y = u8[9,1900] slice(x), "
                     "slice={[0:9], [3:1903]}\n",
                     32),
            32);
  EXPECT_EQ(lanes_of(" x = f16[9,2000] parameter(0)\n ROOT y = f16[9,4000] concatenate(x, x), "
                     "dimensions={1}\n",
                     32),
            16);
  EXPECT_EQ(lanes_of(" x = bf16[9,2000] parameter(0)\n z = bf16[] constant(0)\n"
                     " ROOT y = bf16[11,2002] pad(x, z), padding=1_1x1_1\n",
                     64),
            32);
  EXPECT_EQ(lanes_of(" x = u8[] parameter(0)\n ROOT y = u8[] slice(x), slice={}\n", 32), 1);
}

TEST(NarrowIntegers, RowsOfAGatherFillVectors) {
  const auto lanes = [](std::string_view table, std::string_view result, std::string_view sizes) {
    return lanes_of(cat(" x = ", table, " parameter(0)\n i = s64[9,1] parameter(1)\n ROOT y = ",
                        result, " gather(x, i), index_vector_dim=1, ", sizes, "\n"),
                    32);
  };
  const std::string_view of_rows =
      "offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, slice_sizes={1,2000}";
  EXPECT_EQ(lanes("u8[50,2000]", "u8[9,2000]", of_rows), 32);
  EXPECT_EQ(lanes("f16[50,2000]", "f16[9,2000]", of_rows), 16);
  EXPECT_EQ(lanes("u8[50,2000]", "u8[50,9]",
                  "offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, "
                  "slice_sizes={50,1}"),
            4)
      << "of the indices: a vector has elements that do not lie side by side";
}

TEST(NarrowIntegers, AFewOf64BitsDoNotNarrowAGroup) {
  std::string lines =
      " x = f32[4096] parameter(0)\n n = s64[4096] parameter(1)\n"
      " one = s64[] constant(1)\n ones = s64[4096] broadcast(one), dimensions={}\n"
      " m = s64[4096] add(n, ones)\n y0 = f32[4096] sine(x)\n";
  for (int i = 0; i < 24; ++i) {
    lines += cat(" y", i + 1, " = f32[4096] ", i % 2 == 0 ? "add" : "multiply", "(y", i, ", x)\n");
  }
  EXPECT_EQ(lanes_of(lines + " ROOT r = (s64[4096], f32[4096]) tuple(m, y24)\n", 32), 8);
  EXPECT_EQ(lanes_of(" n = s64[4096] parameter(0)\n ROOT m = s64[4096] add(n, n)\n", 32), 4);
}

}  // namespace
}  // namespace heddle::cpu
