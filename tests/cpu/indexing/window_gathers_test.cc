// Gathers by indices that are sums of multiples of their places.
#include "heddle/cpu/rewrites/indexing/window_gathers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// x[i * hop + j + first] with f32[size] x, frames of `length`, and indices of the type.
std::string frames(int size, int count, int length, int hop, int first,
                   const std::string& type = "s32") {
  const std::string all = cat("[", count, ",", length, "]");
  return cat("HloModule m\nENTRY main {\n x = f32[", size, "] parameter(0)\n i = ", type, all,
             " iota(), iota_dimension=0\n h = ", type, "[] constant(", hop, ")\n hs = ", type, all,
             " broadcast(h), dimensions={}\n s = ", type, all, " multiply(i, hs)\n j = ", type, all,
             " iota(), iota_dimension=1\n t = ", type, all, " add(s, j)\n f = ", type,
             "[] constant(", first, ")\n fs = ", type, all,
             " broadcast(f), dimensions={}\n at = ", type, all, " add(t, fs)\n zero = ", type,
             "[] constant(0)\n zeros = ", type, all,
             " broadcast(zero), dimensions={}\n below = pred", all,
             " compare(at, zeros), direction=LT\n n = ", type, "[] constant(", size,
             ")\n ns = ", type, all, " broadcast(n), dimensions={}\n more = ", type, all,
             " add(at, ns)\n index = ", type, all, " select(below, more, at)\n ROOT y = f32", all,
             " gather(x, index), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
             "index_vector_dim=2, slice_sizes={1} }");
}

const hlo::Instruction& root_of(const hlo::Module& module) {
  return module.computations.back().root_instruction();
}

// How many neighbours the gather at the root takes.
int64_t length_of(const std::string& text) {
  const hlo::Module now = gather_windows(hlo::parse_text(text).value()).value();
  return std::ranges::max(root_of(now).attrs.get<hlo::GatherAttrs>().slice_sizes);
}

TEST(WindowGathers, OfFrames) {
  for (const auto& [count, length, hop, first] :
       {std::array{20, 30, 1, 0}, {20, 30, 5, 3}, {1, 9, 1, 4}, {7, 4, 0, 2}, {5, 20, 20, 0}}) {
    const std::string text = frames(130, count, length, hop, first);
    EXPECT_EQ(length_of(text), length) << text;
    expect_as_evaluated(text);
  }
  for (const char* type : {"s8", "u8", "s16", "u32", "s64", "u64"}) {
    const std::string text = frames(100, 10, 20, 4, 1, type);
    EXPECT_EQ(length_of(text), 20) << text;
    expect_as_evaluated(text);
  }
}

TEST(WindowGathers, OthersStay) {
  EXPECT_EQ(length_of(frames(130, 20, 3, 5, 0)), 1) << "few neighbours";
  // Indices that leave the array, count from its end, or wrap around.
  for (const std::string& text :
       {frames(130, 20, 30, 6, 0), frames(130, 20, 30, 5, 20), frames(130, 20, 30, 5, -1),
        frames(130, 20, 30, 5, -200), frames(200, 20, 30, 12, 0, "u8"),
        frames(127, 20, 30, 6, 0, "s8")}) {
    EXPECT_EQ(length_of(text), 1) << text;
    expect_as_evaluated(text);
  }
}

// x[:, i * 2 + k, j + l]: patches of images, by indices side by side.
TEST(WindowGathers, OfPatches) {
  const std::string text =
      "HloModule m\nENTRY main {\n x = f32[3,20,15] parameter(0)\n"
      " i = s32[8,10,6,5] iota(), iota_dimension=0\n k = s32[8,10,6,5] iota(), iota_dimension=2\n"
      " j = s32[8,10,6,5] iota(), iota_dimension=1\n l = s32[8,10,6,5] iota(), iota_dimension=3\n"
      " two = s32[] constant(2)\n twos = s32[8,10,6,5] broadcast(two), dimensions={}\n"
      " rows = s32[8,10,6,5] multiply(i, twos)\n r = s32[8,10,6,5] add(rows, k)\n"
      " c = s32[8,10,6,5] add(j, l)\n r1 = s32[8,10,6,5,1] reshape(r)\n"
      " c1 = s32[8,10,6,5,1] reshape(c)\n"
      " index = s32[8,10,6,5,2] concatenate(r1, c1), dimensions={4}\n"
      " ROOT y = f32[3,8,10,6,5] gather(x, index), offset_dims={0}, collapsed_slice_dims={1,2}, "
      "start_index_map={1,2}, index_vector_dim=4, slice_sizes={3,1,1} }";
  EXPECT_EQ(length_of(text), 5);
  expect_as_evaluated(text);
}

// By numbers that stand in the module, also of windows that go back.
TEST(WindowGathers, OfConstants) {
  const auto by = [](const std::string& index) {
    return cat(
        "HloModule m\nENTRY main {\n x = f32[9,30] parameter(0)\n index = s32[3,4] constant(",
        index,
        ")\n ROOT y = f32[9,3,4] gather(x, index), offset_dims={0}, "
        "collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=2, "
        "slice_sizes={9,1} }");
  };
  const std::string up = by("{{2,3,4,5},{9,10,11,12},{16,17,18,19}}");
  const std::string down = by("{{5,4,3,2},{12,11,10,9},{19,18,17,16}}");
  const std::string other = by("{{2,3,4,5},{9,10,11,12},{16,17,18,20}}");
  const hlo::Module now = gather_windows(hlo::parse_text(up).value()).value();
  EXPECT_EQ(root_of(now).attrs.get<hlo::GatherAttrs>().slice_sizes, (hlo::Dims{9, 4}));
  EXPECT_EQ(length_of(down), 9);
  EXPECT_EQ(length_of(other), 9);
  for (const std::string& text : {up, down, other}) expect_as_evaluated(text);
}

// As take() with a fill asks whether an index is within: all are, or none is.
TEST(WindowGathers, ComparisonsThatAreKnownAreNone) {
  const auto asks = [](int least) {
    return cat(
        "HloModule m\nall { a = pred[] parameter(0)\n b = pred[] parameter(1)\n"
        " ROOT c = pred[] and(a, b) }\nENTRY main {\n x = f32[50] parameter(0)\n"
        " i = s32[50,1] iota(), iota_dimension=0\n n = s32[] constant(",
        least,
        ")\n ns = s32[50,1] broadcast(n), dimensions={}\n"
        " is = pred[50,1] compare(i, ns), direction=GE\n not = pred[50,1] not(is)\n"
        " both = pred[50,1] or(is, not)\n and = pred[50,1] and(is, both)\n"
        " yes = pred[] constant(true)\n"
        " p = pred[50] reduce(and, yes), dimensions={1}, to_apply=all\n"
        " nan = f32[] constant(nan)\n nans = f32[50] broadcast(nan), dimensions={}\n"
        " ROOT y = f32[50] select(p, x, nans) }");
  };
  for (const auto& [least, is_known] : {std::pair(0, true), {50, true}, {25, false}}) {
    const std::string text = asks(least);
    const hlo::Module now = gather_windows(hlo::parse_text(text).value()).value();
    const auto& instructions = now.computations.back().instructions;
    EXPECT_EQ(std::ranges::count(instructions, hlo::Opcode::kCompare, &hlo::Instruction::opcode),
              is_known ? 0 : 1)
        << hlo::print(now);
    expect_as_evaluated(text);
  }
}

}  // namespace
}  // namespace heddle::cpu
