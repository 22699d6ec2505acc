// Padded arrays that are added, parts of them, and windows over padding.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "heddle/base/text/strings.h"
#include "heddle/cpu/rewrites/pads/joined_pads.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;
using base::join;

// A part of a sum of padded arrays, of a few dimensions: arrays, paddings and the part at random.
class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {
    static constexpr const char* kTypes[] = {"f32", "f64", "s32", "u8"};
    type_ = kTypes[below(4)];
  }

  std::string text() {
    std::vector<int64_t> from;
    for (int64_t d = 1 + below(3); d > 1; --d) from.push_back(1 + below(6));
    from.push_back(1 + below(40));
    std::string lines = cat(" x = ", type(from), " parameter(0)\n y = ", type(from),
                            " parameter(1)\n z = ", type({}), " constant(", below(2),
                            ")\n s = ", type(from), " subtract(x, y)\n");
    std::vector<int64_t> whole;
    for (const int64_t size : from) whole.push_back(size + below(5));
    const int64_t pads = 1 + below(4);
    std::string sum = "w";
    lines += cat(" w = ", type(whole), " parameter(2)\n");
    for (int64_t i = 0; i < pads; ++i) {
      std::string padding;
      for (size_t d = 0; d < from.size(); ++d) {
        const int64_t low = below(6) - 2;
        padding += cat(d == 0 ? "" : "x", low, "_", whole[d] - from[d] - low);
      }
      static constexpr const char* kOf[] = {"x", "y", "s", "s"};
      lines += cat(" p", i, " = ", type(whole), " pad(", kOf[below(4)], ", z), padding=", padding,
                   "\n a", i, " = ", type(whole), " ", below(3) == 0 ? "multiply(" : "add(", sum,
                   ", p", i, ")\n");
      sum = cat("a", i);
    }
    if (below(2) == 0)
      return cat(head(), lines, " ROOT r = ", type(whole), " negate(", sum, ")\n}\n");
    std::vector<int64_t> part;
    std::string slices;
    for (size_t d = 0; d < whole.size(); ++d) {
      const int64_t start = below(whole[d]), size = 1 + below(whole[d] - start);
      slices += cat(d == 0 ? "" : ", ", "[", start, ":", start + size, "]");
      part.push_back(size);
    }
    return cat(head(), lines, " ROOT r = ", type(part), " slice(", sum, "), slice={", slices,
               "}\n}\n");
  }

 private:
  static std::string head() { return "HloModule m\nENTRY main {\n"; }
  std::string type(const std::vector<int64_t>& sizes) const {
    return cat(type_, "[", join(sizes, ","), "]");
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  std::mt19937_64 random_;
  std::string type_;
};

TEST(CpuPads, OfRandomSumsGiveWhatTheEvaluatorGives) {
  const auto [first, last] = random_numbers(300);
  for (uint64_t seed = first; seed < last; ++seed) {
    const std::string text = Writer(seed).text();
    SCOPED_TRACE(text);
    expect_as_evaluated(text, {.any_zero = true});
    if (HasFailure()) return;
  }
}

// Sums of arrays that are zeros but for some columns, in any order, with others and with arrays of
// all columns.
TEST(CpuPads, OfColumnsGiveWhatTheEvaluatorGives) {
  const auto [first, last] = random_numbers(100);
  for (uint64_t seed = first; seed < last; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    static constexpr const char* kTypes[] = {"f32", "f64", "s32", "u8", "bf16"};
    const std::string type = kTypes[below(5)];
    const int64_t rows = 1 + below(70), columns = 2 + below(15);
    const std::string all = cat(type, "[", rows, ",", columns, "]");
    std::string lines = cat(" z = ", type, "[] constant(0)\n s0 = ", all, " parameter(0)\n"), sum;
    int64_t parameters = 1;
    for (int64_t at = 0; at < columns || parameters < 3; ++parameters) {
      if (at >= columns) at = 0;  // once more
      const int64_t size = 1 + below(static_cast<uint64_t>(std::min<int64_t>(columns - at, 3)));
      const std::string own = cat(type, "[", rows, ",", size, "]");
      lines +=
          cat(" x", parameters, " = ", own, " parameter(", parameters, ")\n p", parameters, " = ",
              all, " pad(x", parameters, ", z), padding=0_0x", at, "_", columns - at - size, "\n");
      const std::string term = below(5) == 0 ? "s0" : cat("p", parameters);
      if (!sum.empty())
        lines += cat(" a", parameters, " = ", all, " add(",
                     below(2) == 0 ? sum + ", " + term : term + ", " + sum, ")\n");
      sum = sum.empty() ? term : cat("a", parameters);
      at += size + below(2);
    }
    const std::string text =
        cat("HloModule m\nENTRY main {\n", lines, " ROOT r = ", all, " negate(", sum, ")\n}\n");
    SCOPED_TRACE(text);
    expect_as_evaluated(text, {.any_zero = true});
    if (HasFailure()) return;
  }
}

// More columns than a vector has lanes, and numbers of them with large factors.
TEST(CpuPads, StacksOfManyColumns) {
  for (const int count : {9, 13, 16, 17, 31, 32, 33}) {
    for (const char* type : {"f32", "u8", "f64"}) {
      std::string lines, parts;
      for (int i = 0; i < count; ++i) {
        lines += cat(" c", i, " = ", type, "[] constant(", i % 5, ")\n b", i, " = ", type,
                     "[50,1] broadcast(c", i, "), dimensions={}\n m", i, " = ", type,
                     "[50,1] multiply(x, b", i, ")\n");
        parts += cat(i == 0 ? "" : ", ", "m", i);
      }
      expect_as_evaluated(cat("HloModule m\nENTRY main {\n x = ", type, "[50,1] parameter(0)\n",
                              lines, " ROOT r = ", type, "[50,", count, "] concatenate(", parts,
                              "), dimensions={1}\n}\n"));
    }
  }
}

std::string window(const std::string& from, const std::string& padding, const std::string& padded,
                   const std::string& window, const std::string& to, const std::string& op) {
  return cat("HloModule m\nf { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] ",
             op, "(a, b) }\nENTRY main {\n x = f32", from,
             " parameter(0)\n z = f32[] constant(0)\n p = f32", padded,
             " pad(x, z), padding=", padding, "\n ROOT w = f32", to,
             " reduce-window(p, z), window={", window, "}, to_apply=f\n}\n");
}

TEST(CpuPads, OfOneElementUnderWindows) {
  for (const char* op : {"add", "maximum"}) {
    expect_as_evaluated(
        window("[3,1,1,5]", "0_0x6_6x3_6x0_0", "[3,13,10,5]", "size=1x7x7x1", "[3,7,4,5]", op));
    expect_as_evaluated(
        window("[3,1,1,5]", "0_0x7_6x2_2x0_0", "[3,14,5,5]", "size=1x7x3x1", "[3,8,3,5]", op));
    expect_as_evaluated(
        window("[3,1,9,5]", "0_0x2_2x2_2x0_0", "[3,5,13,5]", "size=1x3x3x1", "[3,3,11,5]", op));
    expect_as_evaluated(window("[1]", "4_4", "[9]", "size=5", "[5]", op));
    expect_as_evaluated(window("[2,1]", "0_0x4_4", "[2,9]", "size=1x5 stride=1x2", "[2,3]", op));
  }
}

TEST(CpuPads, WindowsOverRowsOfAFewElements) {
  for (const char* op : {"add", "maximum"}) {
    expect_as_evaluated(
        window("[9,20,3]", "1_2x2_1x0_0", "[12,23,3]", "size=3x4x1", "[10,20,3]", op));
    expect_as_evaluated(window("[9,20,3]", "0_0x0_0x0_0", "[9,20,3]", "size=3x4x1 rhs_dilate=1x2x1",
                               "[7,14,3]", op));
    expect_as_evaluated(
        window("[9,20,3]", "0_0x0_0x0_0", "[9,20,3]", "size=3x4x1 stride=2x1x1", "[4,17,3]", op));
    expect_as_evaluated(
        window("[9,20,3]", "0_0x0_0x0_0", "[9,20,3]", "size=3x4x1 stride=1x2x1", "[7,9,3]", op));
    expect_as_evaluated(
        window("[9,20,3]", "0_0x0_0x0_0", "[9,20,3]", "size=5x1x1", "[5,20,3]", op));
    expect_as_evaluated(
        window("[9,20,3]", "0_0x0_0x0_0", "[9,20,3]", "size=2x2x2", "[8,19,2]", op));
    expect_as_evaluated(window("[9,20,4]", "0_0x0_0x0_0", "[9,20,4]", "size=3x1x1 pad=0_0x0_0x0_-1",
                               "[7,20,3]", op));
    expect_as_evaluated(window("[9,20,3]", "0_0x0_0x0_0", "[9,20,3]", "size=3x1x1 pad=-1_0x0_0x0_0",
                               "[6,20,3]", op));
    expect_as_evaluated(window("[9,20,3]", "0_0x0_0x0_0", "[9,20,3]", "size=3x2x1 pad=0_0x-2_0x0_0",
                               "[7,17,3]", op));
  }
}

// Pixels of few features, padded below a slice of a place that is not known.
TEST(CpuPads, OfRowsOfPixels) {
  for (const char* type : {"f32", "u8"}) {
    for (const char* padding : {"0_0x4_4x4_4x0_0", "0_0x1_0x-2_5x0_0", "0_0x0_0x3_-4x0_0"}) {
      const int64_t rows = padding[4] == '4' ? 17 : padding[4] == '1' ? 10 : 9;
      const int64_t columns = padding[4] == '4' ? 20 : padding[4] == '1' ? 15 : 11;
      const std::string text =
          cat("HloModule m\nENTRY main {\n x = ", type, "[2,9,12,3] parameter(0)\n n = ", type,
              "[] constant(3)\n i = s32[] parameter(1)\n zero = s32[] constant(0)\n p = ", type,
              "[2,", rows, ",", columns, ",3] pad(x, n), padding=", padding, "\n ROOT s = ", type,
              "[2,5,7,3] dynamic-slice(p, zero, i, i, zero), dynamic_slice_sizes={2,5,7,3} }\n");
      EXPECT_EQ(join_padded_rows(hlo::parse_text(text).value()).value().has_value(), true) << text;
      expect_as_evaluated(text);
    }
  }
  const std::string added =
      "HloModule m\nENTRY main {\n x = f32[2,9,12,3] parameter(0)\n n = f32[] constant(3)\n p = "
      "f32[2,9,14,3] pad(x, n), padding=0_0x0_0x1_1x0_0\n ROOT s = f32[2,9,14,3] add(p, p) }\n";
  EXPECT_FALSE(join_padded_rows(hlo::parse_text(added).value()).value().has_value());
  expect_as_evaluated(added);
}

}  // namespace
}  // namespace heddle::cpu
