// Reductions of blocks, as pooling by a reshape has them.
#include "heddle/cpu/rewrites/folds/pooled_folds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

std::string reduction(const std::string& dtype, const std::string& sizes, const std::string& dims,
                      const std::string& result, const std::string& op, const std::string& init) {
  return cat("HloModule m\nfold { a = ", dtype, "[] parameter(0)\n b = ", dtype,
             "[] parameter(1)\n ROOT c = ", dtype, "[] ", op, "(a, b) }\nENTRY e {\n x = ", dtype,
             sizes, " parameter(0)\n i = ", dtype, "[] constant(", init, ")\n ROOT r = ", dtype,
             result, " reduce(x, i), dimensions=", dims, ", to_apply=fold }");
}

int64_t windows_of(const std::string& text) {
  const hlo::Module module = pool_blocks(hlo::parse_text(text).value()).value();
  return std::ranges::count(module.entry_computation().instructions, hlo::Opcode::kReduceWindow,
                            &hlo::Instruction::opcode);
}

TEST(PooledFolds, BlocksAreWindows) {
  const auto windows = [](const char* sizes, const char* dims, const char* result) {
    return windows_of(reduction("f32", sizes, dims, result, "maximum", "-inf"));
  };
  EXPECT_EQ(windows("[3,4,2,5,2]", "{2,4}", "[3,4,5]"), 1);
  EXPECT_EQ(windows("[2,4,9,3]", "{0,3}", "[4,9]"), 1);
  EXPECT_EQ(windows("[4,2,2,9,4]", "{1,2,4}", "[4,9]"), 1);
  EXPECT_EQ(windows("[2,2,4,2]", "{0,1,3}", "[4]"), 1);
  EXPECT_EQ(windows("[3,4,2,5,2,1]", "{2,4}", "[3,4,5,1]"), 1);
  EXPECT_EQ(windows("[3,4,2,5,2,7]", "{2,4}", "[3,4,5,7]"), 1);
  EXPECT_EQ(windows("[3,4,2,5,2,2,3]", "{2,4}", "[3,4,5,2,3]"), 1);
  // The last dimension alone, and with its neighbour; one that stays last; one of many elements.
  EXPECT_EQ(windows("[3,4,2,5,2]", "{4}", "[3,4,2,5]"), 0);
  EXPECT_EQ(windows("[3,4,5,2,2]", "{3,4}", "[3,4,5]"), 0);
  EXPECT_EQ(windows("[3,4,2,5,2]", "{0,2}", "[4,5,2]"), 0);
  EXPECT_EQ(windows("[3,4,2,5,5]", "{2,4}", "[3,4,5]"), 0);
  // Few places, more so of wide ones, and blocks of many elements.
  EXPECT_EQ(windows("[2,4,7,3]", "{0,3}", "[4,7]"), 0);
  EXPECT_EQ(windows("[4,3,2,9,4]", "{1,2,4}", "[4,9]"), 0);
  EXPECT_EQ(windows("[3,4,2,3,2]", "{2,4}", "[3,4,3]"), 0);
  EXPECT_EQ(windows("[3,4,20,5,2]", "{2,4}", "[3,4,5]"), 0);
  EXPECT_EQ(windows("[3,0,2,5,2]", "{2,4}", "[3,0,5]"), 0);
}

// What is computed of a transposed array is folded where that lies.
TEST(PooledFolds, OfATransposedArrayStay) {
  const auto of = [](const char* order) {
    return cat(
        "HloModule m\nfold { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        " ROOT c = f32[] add(a, b) }\nENTRY e {\n x = f32[2,8,2,8] parameter(0)\n"
        " i = f32[] constant(0)\n t = f32[8,2,8,2] transpose(x), dimensions=",
        order, "\n n = f32[8,2,8,2] negate(t)\n ROOT r = f32[8,8] reduce(n, i), ",
        "dimensions={1,3}, to_apply=fold }");
  };
  EXPECT_EQ(windows_of(of("{1,0,3,2}")), 0);
}

TEST(PooledFolds, HaveTheReductionsValues) {
  struct Case {
    const char *sizes, *dims, *result;
  };
  for (const Case& c : {Case{"[3,4,2,21,2]", "{2,4}", "[3,4,21]"},
                        {"[2,4,37,3]", "{0,3}", "[4,37]"},
                        {"[3,2,2,17,4]", "{1,2,4}", "[3,17]"},
                        {"[2,2,19,2]", "{0,1,3}", "[19]"},
                        {"[3,4,2,21,2,1]", "{2,4}", "[3,4,21,1]"},
                        {"[2,5,2,9,3,3]", "{2,4}", "[2,5,9,3]"},
                        {"[2,4,2,4,2,4,2,17]", "{2,4,6}", "[2,4,4,4,17]"},
                        {"[0,2,19,2]", "{1,3}", "[0,19]"}}) {
    SCOPED_TRACE(c.sizes);
    const auto expect = [&](const char* dtype, const char* op, const char* init,
                            const Allowed& allowed) {
      SCOPED_TRACE(cat(dtype, " ", op));
      expect_as_evaluated(reduction(dtype, c.sizes, c.dims, c.result, op, init), allowed);
    };
    for (const char* dtype : {"f32", "f64", "bf16", "f16"}) {
      expect(dtype, "maximum", "-inf", {.any_zero = true});
      expect(dtype, "minimum", "1", {.any_zero = true});
    }
    expect("f32", "add", "0.5", {.share = 1e-6});
    expect("f64", "multiply", "2", {.share = 1e-14});
    for (const char* dtype : {"s8", "u8", "s32", "u64"}) {
      expect(dtype, "add", "3", {});
      expect(dtype, "maximum", "1", {});
      expect(dtype, "xor", "1", {});
    }
    expect("pred", "or", "false", {});
  }
}

}  // namespace
}  // namespace heddle::cpu
