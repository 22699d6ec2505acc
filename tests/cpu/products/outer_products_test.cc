// Products that sum nothing, or few terms with a small matrix, and transposes of them.
#include "heddle/cpu/rewrites/products/outer_products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string product(const std::string& type, const std::string& x, const std::string& y,
                    const std::string& dot, const std::string& sums, const std::string& result,
                    const std::string& order) {
  return cat("HloModule m\nENTRY main {\n x = ", type, x, " parameter(0)\n y = ", type, y,
             " parameter(1)\n d = ", type, dot, " dot(x, y), ", sums, "\n ROOT t = ", type, result,
             " transpose(d), dimensions={", order, "} }");
}

// The root is a dot no longer, and no transpose of one.
bool is_expanded(const std::string& text) {
  const hlo::Module now = expand_outer_products(hlo::parse_text(text).value()).value();
  const hlo::Opcode root = now.computations.back().root_instruction().opcode;
  return root == hlo::Opcode::kMultiply || root == hlo::Opcode::kAdd;
}

struct Case {
  const char *x, *y, *dot, *sums, *result, *order;
};

TEST(OuterProducts, OfNoSumInTheTransposesOrder) {
  const Case cases[] = {
      {"[3,5]", "[4,5]", "[5,3,4]",
       "lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={}, rhs_contracting_dims={}",
       "[3,4,5]", "1,2,0"},
      {"[3,5]", "[4,5]", "[5,3,4]",
       "lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={}, rhs_contracting_dims={}",
       "[4,5,3]", "2,0,1"},
      {"[20]", "[30]", "[20,30]", "lhs_contracting_dims={}, rhs_contracting_dims={}", "[30,20]",
       "1,0"},
      {"[20,1]", "[1,30]", "[20,30]", "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
       "[30,20]", "1,0"},
      {"[2,3]", "[4,5]", "[2,3,4,5]", "lhs_contracting_dims={}, rhs_contracting_dims={}",
       "[5,2,4,3]", "3,0,2,1"},
      {"[]", "[4]", "[4]", "lhs_contracting_dims={}, rhs_contracting_dims={}", "[4]", "0"},
  };
  for (const Case& each : cases) {
    for (const char* type : {"f32", "f64", "s32", "c64"}) {
      const std::string text =
          product(type, each.x, each.y, each.dot, each.sums, each.result, each.order);
      EXPECT_TRUE(is_expanded(text)) << text;
      expect_as_evaluated(text, {.share = type == std::string("c64") ? 1e-6 : 0});
    }
  }
}

// As products of bf16 are computed: in f32, and converted before the transpose.
TEST(OuterProducts, OfNarrowElements) {
  for (const auto& [narrow, wide] : {std::pair("bf16", "f32"), {"f16", "f32"}, {"s8", "s32"}}) {
    const std::string text =
        cat("HloModule m\nENTRY main {\n x = ", narrow, "[30,5] parameter(0)\n y = ", narrow,
            "[40,5] parameter(1)\n d = ", wide,
            "[5,30,40] dot(x, y), lhs_batch_dims={1}, rhs_batch_dims={1}, lhs_contracting_dims={}, "
            "rhs_contracting_dims={}\n c = ",
            narrow, "[5,30,40] convert(d)\n ROOT t = ", narrow,
            "[30,40,5] transpose(c), dimensions={1,2,0} }");
    const hlo::Module now = expand_outer_products(hlo::parse_text(text).value()).value();
    EXPECT_EQ(now.computations.back().root_instruction().opcode, hlo::Opcode::kConvert) << text;
    expect_as_evaluated(text);
  }
}

TEST(OuterProducts, OfFewTermsWithASmallMatrix) {
  const Case cases[] = {
      // einsum("ab,xby->xay"), with the small matrix second and first
      {"[6,2,9]", "[2,2]", "[6,9,2]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
       "[6,2,9]", "0,2,1"},
      {"[3,2]", "[6,2,9]", "[3,6,9]", "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
       "[6,3,9]", "1,0,2"},
      {"[4,4]", "[6,4,20]", "[4,6,20]", "lhs_contracting_dims={0}, rhs_contracting_dims={1}",
       "[6,4,20]", "1,0,2"},
      // of two states at once
      {"[3,2,2,9]", "[2,2,2,2]", "[3,9,2,2]",
       "lhs_contracting_dims={1,2}, rhs_contracting_dims={2,3}", "[3,2,2,9]", "0,2,3,1"},
  };
  for (const Case& each : cases) {
    const bool has_lanes = each.order[0] == '1';  // the dot itself has them
    for (const char* type : {"f32", "c64", "s32"}) {
      const std::string text =
          product(type, each.x, each.y, each.dot, each.sums, each.result, each.order);
      const bool is_complex = type == std::string("c64");  // each term is rounded as one product
      EXPECT_EQ(is_expanded(text), !has_lanes || is_complex) << text;
      expect_as_evaluated(text, {.share = type == std::string("s32") ? 0 : 1e-6});
    }
  }
}

TEST(OuterProducts, OthersStay) {
  const auto gate = [](int states, int places) {
    const std::string size = std::to_string(states), last = std::to_string(places);
    return product("f32", cat("[6,", size, ",", last, "]"), cat("[", size, ",", size, "]"),
                   cat("[6,", last, ",", size, "]"),
                   "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
                   cat("[6,", size, ",", last, "]"), "0,2,1");
  };
  EXPECT_TRUE(is_expanded(gate(4, 8)));
  EXPECT_FALSE(is_expanded(gate(5, 8))) << "many terms";
  EXPECT_FALSE(is_expanded(gate(4, 7))) << "short vectors";
  EXPECT_FALSE(is_expanded(product("f32", "[6,9,2]", "[2,2]", "[6,9,2]",
                                   "lhs_contracting_dims={2}, rhs_contracting_dims={1}", "[6,2,9]",
                                   "0,2,1")))
      << "the sum is along the lanes";
}

}  // namespace
}  // namespace heddle::cpu
