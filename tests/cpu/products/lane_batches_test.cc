// Products of batches that lie innermost.
#include "heddle/cpu/rewrites/products/lane_batches.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// dot(a, b) of the attributes.
std::string product(std::string_view type, std::string_view a, std::string_view b,
                    std::string_view result, std::string_view attributes) {
  return cat("HloModule m\nENTRY e { a = ", type, "[", a, "] parameter(0)\n b = ", type, "[", b,
             "] parameter(1)\n ROOT r = ", type, "[", result, "] dot(a, b), ", attributes, " }");
}
constexpr std::string_view kLast =
    "lhs_batch_dims={2}, lhs_contracting_dims={1}, rhs_batch_dims={2}, rhs_contracting_dims={1}";

bool is_rewritten(const std::string& text) {
  return put_batches_in_lanes(hlo::parse_text(text).value()).value().has_value();
}

void expect_lanes(const std::string& text, const Allowed& allowed) {
  SCOPED_TRACE(text);
  EXPECT_TRUE(is_rewritten(text));
  expect_as_evaluated(text, allowed);
}

TEST(LaneBatches, OfEachTypeAndSize) {
  for (const char* type : {"f32", "f64", "f16", "bf16"}) {
    const Allowed allowed{.share = type[1] == '1' || type[0] == 'b' ? 0.01 : 1e-6};
    for (const int64_t lanes : {8, 9, 16, 33, 65, 100}) {
      expect_lanes(
          product(type, cat("4,40,", lanes), cat("3,40,", lanes), cat(lanes, ",4,3"), kLast),
          allowed);
      expect_lanes(
          product(type, cat("1,16,", lanes), cat("16,16,", lanes), cat(lanes, ",1,16"), kLast),
          allowed);
    }
  }
}

TEST(LaneBatches, OfSeveralDimensions) {
  // A spectral convolution, b i x y by i o x y; with another dimension of the batch in front.
  expect_lanes(product("f32", "2,8,6,5", "8,7,6,5", "6,5,2,7",
                       "lhs_batch_dims={2,3}, lhs_contracting_dims={1}, rhs_batch_dims={2,3}, "
                       "rhs_contracting_dims={0}"),
               {.share = 1e-6});
  expect_lanes(product("f32", "3,2,8,6,5", "8,3,7,6,5", "3,6,5,2,7",
                       "lhs_batch_dims={0,3,4}, lhs_contracting_dims={2}, rhs_batch_dims={1,3,4}, "
                       "rhs_contracting_dims={0}"),
               {.share = 1e-6});
  // Rows and summands of two dimensions each.
  expect_lanes(product("f64", "2,3,4,2,20", "4,5,2,20", "20,2,3,5",
                       "lhs_batch_dims={4}, lhs_contracting_dims={2,3}, rhs_batch_dims={3}, "
                       "rhs_contracting_dims={0,2}"),
               {.share = 1e-12});
}

TEST(LaneBatches, OfOperandsThatAreTransposed) {
  // By name: in memory the batch is last.
  expect_lanes(
      "HloModule m\nENTRY e { a = f32[4,40,20] parameter(0)\n b = f32[3,40,20] parameter(1)\n"
      " t = f32[20,4,40] transpose(a), dimensions={2,0,1}\n"
      " ROOT r = f32[20,4,3] dot(t, b), lhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_batch_dims={2}, rhs_contracting_dims={1} }",
      {.share = 1e-6});
  // A small one that is turned.
  const auto turned = [](int64_t columns) {
    return product("f32", "40,2,8", cat(columns, ",8,40"), cat("40,2,", columns),
                   "lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={2}, "
                   "rhs_contracting_dims={1}");
  };
  expect_lanes(turned(8), {.share = 1e-6});
  EXPECT_FALSE(is_rewritten(turned(4)));
}

TEST(LaneBatches, OfComplexNumbers) {
  expect_as_evaluated(product("c64", "4,40,33", "3,40,33", "33,4,3", kLast), {.share = 1e-6});
}

TEST(LaneBatches, OthersStay) {
  EXPECT_FALSE(is_rewritten(product("f32", "3,3,50", "3,3,50", "50,3,3", kLast)));        // small
  EXPECT_FALSE(is_rewritten(product("f32", "64,64,50", "64,64,50", "50,64,64", kLast)));  // large
  EXPECT_FALSE(is_rewritten(product("f32", "4,40,7", "4,40,7", "7,4,4", kLast)));  // few lanes
  EXPECT_FALSE(is_rewritten(product("s32", "4,40,50", "4,40,50", "50,4,4", kLast)));
}

TEST(LaneBatches, InfinitiesAndNaNStayWhereTheyAre) {
  // 0 / 0 and x / 0 in some matrices alone.
  expect_as_evaluated(
      "HloModule m\nENTRY e { a = f32[4,40,20] parameter(0)\n b = f32[3,40,20] parameter(1)\n"
      " l = f32[4,40,20] iota(), iota_dimension=2\n c = f32[] constant(3)\n"
      " cs = f32[4,40,20] broadcast(c), dimensions={}\n d = f32[4,40,20] subtract(l, cs)\n"
      " q = f32[4,40,20] divide(a, d)\n ROOT r = f32[20,4,3] dot(q, b), lhs_batch_dims={2}, "
      "lhs_contracting_dims={1}, rhs_batch_dims={2}, rhs_contracting_dims={1} }",
      {.share = 1e-6});
}

}  // namespace
}  // namespace heddle::cpu
