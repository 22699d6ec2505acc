// Elements picked from dynamic slices, and from arrays that gained or lost dimensions of size 1.
#include "heddle/cpu/rewrites/indexing/picked_views.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

bool picks(const std::string& text) {
  return pick_from_views(hlo::parse_text(text).value()).value().has_value();
}

// Places between -50 and 200 of a type, in an array of sizes [n].
std::string places(std::string_view type, int number, int n, std::string_view name) {
  return cat(" ", name, "0 = s32[", n, "] parameter(", number, ")\n", name,
             "1 = s32[] constant(29)\n", name, "2 = s32[", n, "] broadcast(", name,
             "1), dimensions={}\n", name, "3 = s32[", n, "] multiply(", name, "0, ", name, "2)\n",
             name, " = ", type, "[", n, "] convert(", name, "3)\n");
}

const std::string_view kReaders[] = {
    " ROOT r = f32[4,9] gather(t, p), offset_dims={1}, collapsed_slice_dims={0},"
    " start_index_map={0}, index_vector_dim=1, slice_sizes={1,9}\n}",
    " ROOT r = f32[4,2,9] gather(t, p), offset_dims={1,2}, collapsed_slice_dims={},"
    " start_index_map={0}, index_vector_dim=1, slice_sizes={2,9}\n}",
    " v = s32[2,2] reshape(p)\n ROOT r = f32[2] gather(t, v), offset_dims={},"
    " collapsed_slice_dims={0,1}, start_index_map={1,0}, index_vector_dim=0, slice_sizes={1,1}\n}",
    " only = s32[1] slice(p), slice={[0:1]}\n i = s32[] reshape(only)\n j = s32[] constant(2)\n"
    " ROOT r = f32[3,5] dynamic-slice(t, i, j), dynamic_slice_sizes={3,5}\n}",
    " ROOT r = f32[4,3] slice(t), slice={[5:9], [1:4]}\n}"};

TEST(CpuPickedViews, OfDynamicSlices) {
  for (const std::string_view start : {"s32", "s64"}) {
    for (const std::string_view reader : kReaders) {
      const std::string text =
          cat("HloModule m\nENTRY e {\n x = f32[130,9] parameter(0)\n", places("s32", 1, 4, "p"),
              places(start, 2, 1, "s"), " at = ", start, "[] reshape(s)\n none = ", start,
              "[] constant(7)\n t = f32[100,9] dynamic-slice(x, at, none),"
              " dynamic_slice_sizes={100,9}\n",
              reader);
      EXPECT_TRUE(picks(text)) << text;
      expect_as_evaluated(text);
    }
  }
}

// Both dimensions of a window begin somewhere; rows that are picked have all columns of it.
TEST(CpuPickedViews, OfWindows) {
  for (const std::string_view reader : kReaders) {
    const std::string text =
        cat("HloModule m\nENTRY e {\n x = f32[130,30] parameter(0)\n", places("s32", 1, 4, "p"),
            places("s32", 2, 1, "s"), " at = s32[] reshape(s)\n one = s32[] constant(1)\n",
            " u = s32[] add(at, one)\n t = f32[100,9] dynamic-slice(x, u, at),"
            " dynamic_slice_sizes={100,9}\n",
            reader);
    const bool has_rows = reader.find("start_index_map={0}") != std::string_view::npos;
    EXPECT_EQ(picks(text), !has_rows) << text;
    expect_as_evaluated(text);
  }
}

TEST(CpuPickedViews, OfJoinedArraysWithNewDimensions) {
  const std::string begin =
      cat("HloModule m\nENTRY e {\n x = f32[60,1,9] parameter(0)\n y = f32[40,1,9] parameter(1)\n",
          places("s32", 2, 4, "p"), " c = f32[100,1,9] concatenate(x, y), dimensions={0}\n");
  for (const std::string_view reader : kReaders) {  // of one that lost a dimension
    const std::string text = cat(begin, " t = f32[100,9] reshape(c)\n", reader);
    EXPECT_TRUE(picks(text)) << text;
    expect_as_evaluated(text);
  }
  for (const std::string_view reader :
       {" ROOT r = f32[4,1,1,9] gather(t, p), offset_dims={1,2,3}, collapsed_slice_dims={1},"
        " start_index_map={1}, index_vector_dim=1, slice_sizes={1,1,1,9}\n}",
        " ROOT r = f32[1,4,9] gather(t, p), offset_dims={0,2}, collapsed_slice_dims={1,2},"
        " start_index_map={1}, index_vector_dim=1, slice_sizes={1,1,1,9}\n}",
        " q = s32[] constant(31)\n o = s32[] constant(3)\n ROOT r = f32[1,3,1,5] dynamic-slice(t, "
        "o,"
        " q, o, o), dynamic_slice_sizes={1,3,1,5}\n}",
        " ROOT r = f32[1,4,1,3] slice(t), slice={[0:1], [58:62], [0:1], [2:8:2]}\n}"}) {
    const std::string text = cat(begin, " t = f32[1,100,1,9] reshape(c)\n", reader);
    EXPECT_TRUE(picks(text)) << text;
    expect_as_evaluated(text);
  }
  // Indices of a new dimension are 0, whatever they are.
  const std::string text =
      cat(begin, " t = f32[1,100,9] reshape(c)\n v = s32[2,2] reshape(p)\n ROOT r = f32[2,9]",
          " gather(t, v), offset_dims={1}, collapsed_slice_dims={0,1}, start_index_map={0,1},",
          " index_vector_dim=1, slice_sizes={1,1,9}\n}");
  EXPECT_FALSE(picks(text));
  expect_as_evaluated(text);
}

// Of elementwise ops, with numbers and truths beside them, on a table that nothing else reads.
TEST(CpuPickedViews, OfElementwiseOpsOnJoinedArrays) {
  const auto text = [](std::string_view op, std::string_view last) {
    return cat("HloModule m\nENTRY e {\n x = f32[60,9] parameter(0)\n y = f32[40,9] parameter(1)\n",
               " w = f32[100,9] parameter(3)\n", places("s32", 2, 4, "p"),
               " c = f32[100,9] concatenate(x, y), dimensions={0}\n k = f32[] constant(0.5)\n"
               " b = f32[100,9] broadcast(k), dimensions={}\n m = pred[100,9] compare(w, b),"
               " direction=LT\n",
               op, last);
  };
  constexpr std::string_view kRows =
      " ROOT r = f32[4,9] gather(t, p), offset_dims={1}, collapsed_slice_dims={0},"
      " start_index_map={0}, index_vector_dim=1, slice_sizes={1,9}\n}\n";
  for (const std::string_view op :
       {" t = f32[100,9] subtract(c, w)\n", " t = f32[100,9] select(m, c, w)\n",
        " t = f32[100,9] clamp(k, c, k)\n",
        " n = f32[100,9] negate(c)\n o = f32[100,9] add(n, b)\n t = f32[100,9] multiply(w, o)\n"}) {
    for (const std::string_view last :
         {kRows, std::string_view(" ROOT r = f32[50,9] slice(t), slice={[1:100:2], [0:9]}\n}\n")}) {
      EXPECT_TRUE(picks(text(op, last))) << text(op, last);
      expect_as_evaluated(text(op, last));
    }
  }
  const std::string difference = " t = f32[100,9] subtract(c, w)\n";
  EXPECT_FALSE(picks(text(cat(difference, " d = f32[100,9] negate(c)\n"), kRows)));
  EXPECT_FALSE(picks(text(difference, " ROOT r = f32[51,9] slice(t), slice={[0:51], [0:9]}\n}\n")));
  EXPECT_FALSE(picks(text(" t = f32[100,9] subtract(w, b)\n", kRows)));
}

// jnp.roll(x, s)[:4] with an s that is known when it runs.
TEST(CpuPickedViews, RowsOfRolledArrays) {
  const std::string text =
      cat("HloModule m\nENTRY e {\n x = f32[100,9] parameter(0)\n", places("s32", 1, 1, "p"),
          " s = s32[] reshape(p)\n o = s32[] constant(0)\n c = f32[200,9] concatenate(x, x),"
          " dimensions={0}\n w = f32[100,9] dynamic-slice(c, s, o), dynamic_slice_sizes={100,9}\n"
          " ROOT r = f32[4,9] slice(w), slice={[0:4], [0:9]}\n}");
  EXPECT_TRUE(picks(text));
  expect_as_evaluated(text);
}

TEST(CpuPickedViews, StayWhereTheyAreNeeded) {
  const auto text = [](std::string_view type, int rows, std::string_view last) {
    return cat("HloModule m\nENTRY e {\n x = f32[1000,9] parameter(0)\n p = ", type, "[", rows,
               "] parameter(1)\n s = s32[] parameter(2)\n o = s32[] constant(0)\n",
               " t = f32[100,9] dynamic-slice(x, s, o), dynamic_slice_sizes={100,9}\n r = f32[",
               rows,
               ",9] gather(t, p), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
               " index_vector_dim=1, slice_sizes={1,9}\n",
               last);
  };
  EXPECT_TRUE(picks(text("s32", 12, " ROOT n = f32[12,9] negate(r)\n}")));
  EXPECT_FALSE(picks(text("s32", 13, " ROOT n = f32[13,9] negate(r)\n}")));
  EXPECT_FALSE(picks(text("s32", 12, " ROOT n = (f32[12,9], f32[100,9]) tuple(r, t)\n}")));
  EXPECT_FALSE(picks(text("u8", 12, " ROOT n = f32[12,9] negate(r)\n}")));  // no u8 is 999
}

}  // namespace
}  // namespace heddle::cpu
