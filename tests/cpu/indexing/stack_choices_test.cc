// Elements of one of several arrays that are stacked for them.
#include "heddle/cpu/rewrites/indexing/stack_choices.h"

#include <gtest/gtest.h>

#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// The element of stack[count,3,5] of x, 2 x, .. that `index`, s32[3,5], has at its own place.
std::string choice_of(int count, const std::string& rows, const std::string& gather) {
  std::string pieces, names;
  for (int k = 0; k < count; ++k) {
    pieces += cat(" k", k, " = f32[] constant(", k + 1, ")\n b", k, " = f32[3,5] broadcast(k", k,
                  "), dimensions={}\n m", k, " = f32[3,5] multiply(x, b", k, ")\n p", k,
                  " = f32[1,3,5] reshape(m", k, ")\n");
    names += cat(k == 0 ? "" : ", ", "p", k);
  }
  return cat("HloModule m\nENTRY main {\n x = f32[3,5] parameter(0)\n", pieces, " stack = f32[",
             count, ",3,5] concatenate(", names,
             "), dimensions={0}\n index = s32[3,5] constant({{0,1,2,3,4},{5,6,7,8,-1},{100,2,1,0,"
             "3}})\n i = s32[3,5,1] reshape(index)\n"
             " r = s32[3,5,1] iota(), iota_dimension=0\n c = s32[3,5,1] iota(), iota_dimension=1\n",
             rows, " ROOT y = f32[3,5] gather(stack, at), ", gather, " }");
}

constexpr const char* kByNumbers =
    "offset_dims={}, collapsed_slice_dims={0,1,2}, start_index_map={0,1,2}, index_vector_dim=2, "
    "slice_sizes={1,1,1}";
constexpr const char* kInBatches =
    "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, operand_batching_dims={1,2}, "
    "start_indices_batching_dims={0,1}, index_vector_dim=2, slice_sizes={1,1,1}";
constexpr const char* kPlaces = " at = s32[3,5,3] concatenate(i, r, c), dimensions={2}\n";

bool is_chosen(const std::string& text) {
  const hlo::Module now = choose_from_stacks(hlo::parse_text(text).value()).value();
  return now.computations.back().root_instruction().opcode != hlo::Opcode::kGather;
}

TEST(StackChoices, GiveTheEvaluatorsValue) {
  for (const int count : {1, 2, 5, 9, 16}) {
    const std::string numbers = choice_of(count, kPlaces, kByNumbers);
    const std::string batches = choice_of(count, " at = s32[3,5,1] copy(i)\n", kInBatches);
    for (const std::string& text : {numbers, batches}) {
      EXPECT_TRUE(is_chosen(text)) << text;
      expect_as_evaluated(text);
    }
  }
}

TEST(StackChoices, OthersStay) {
  const std::string other_rows =
      " one = s32[] constant(1)\n ones = s32[3,5,1] broadcast(one), "
      "dimensions={}\n s = s32[3,5,1] add(r, ones)\n"
      " at = s32[3,5,3] concatenate(i, s, c), dimensions={2}\n";
  const std::string turned =
      " d = s32[3,5,1] iota(), iota_dimension=1\n at = s32[3,5,3] concatenate(i, d, r), "
      "dimensions={2}\n";
  for (const std::string& text :
       {choice_of(17, kPlaces, kByNumbers), choice_of(3, other_rows, kByNumbers),
        choice_of(3, turned, kByNumbers)}) {
    EXPECT_FALSE(is_chosen(text)) << text;
    expect_as_evaluated(text);
  }
}

// All zeros, since the dimension that it counts has one place.
TEST(StackChoices, OfOneRowAreNoPlaces) {
  const std::string text =
      "HloModule m\nENTRY main {\n n = s32[1,5,5] parameter(0)\n a = f32[1,5] parameter(1)\n"
      " b = f32[1,5] parameter(2)\n stack = f32[2,5] concatenate(a, b), dimensions={0}\n"
      " z = s32[1,5,5] iota(), iota_dimension=0\n"
      " at = s32[2,5,5] concatenate(n, z), dimensions={0}\n"
      " ROOT y = f32[5,5] gather(stack, at), offset_dims={}, collapsed_slice_dims={0,1}, "
      "start_index_map={0,1}, index_vector_dim=0, slice_sizes={1,1} }";
  EXPECT_FALSE(is_chosen(text));
  expect_as_evaluated(text);
}

}  // namespace
}  // namespace heddle::cpu
