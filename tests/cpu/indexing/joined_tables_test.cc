// Elements picked from joined, padded and updated arrays.
#include "heddle/cpu/rewrites/indexing/joined_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

bool picks(const std::string& text) {
  return pick_from_parts(hlo::parse_text(text).value()).value().has_value();
}

// t f32[60,7] of x f32[40,7], y f32[20,7] and a number v.
std::string table(std::string_view lines) {
  return cat("HloModule m\nENTRY e {\n x = f32[40,7] parameter(0)\n y = f32[20,7] parameter(1)\n",
             " v = f32[] parameter(2)\n", lines);
}

const std::string_view kTables[] = {
    " t = f32[60,7] concatenate(x, y), dimensions={0}\n",
    " z = f32[20,7] slice(x), slice={[0:20], [0:7]}\n w = f32[20,7] negate(x20)\n"
    " t = f32[60,7] concatenate(z, w, y), dimensions={0}\n",
    " t = f32[60,7] pad(x, v), padding=3_17x0_0\n",
    " t = f32[60,7] pad(x, v), padding=0_20x0_0\n",
    " t = f32[60,7] pad(x, v), padding=20_0x0_0\n",
    " b = f32[60,7] pad(x, v), padding=10_10x0_0\n s = s32[] parameter(4)\n"
    " none = s32[] constant(0)\n t = f32[60,7] dynamic-update-slice(b, y, s, none)\n",
};

std::string with_inputs(std::string_view lines) {
  std::string out(lines);
  const std::string_view x20 = "negate(x20)";
  if (const size_t at = out.find(x20); at != std::string::npos)
    out = " x20 = f32[20,7] slice(x), slice={[20:40], [0:7]}\n" + out;
  return out;
}

TEST(CpuJoinedTables, RowsAreTakenOfTheParts) {
  for (const std::string_view lines : kTables) {
    for (const std::string_view type : {"s32", "u8", "s64"}) {
      // Indices lie on both sides of all borders, and outside.
      const std::string text =
          cat(table(with_inputs(lines)), " p = ", type, "[5] parameter(3)\n n = ", type,
              "[] constant(13)\n m = ", type, "[5] broadcast(n), dimensions={}\n q = ", type,
              "[5] multiply(p, m)\n ROOT r = f32[5,7] gather(t, q), offset_dims={1},",
              " collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
              "slice_sizes={1,7}\n}");
      EXPECT_TRUE(picks(text)) << text;
      expect_as_evaluated(text);
    }
  }
}

TEST(CpuJoinedTables, ElementsOfIndexVectors) {
  for (const std::string_view lines : kTables) {
    const std::string text = cat(
        table(with_inputs(lines)),
        " p = s32[2,3] parameter(3)\n n = s32[] constant(11)\n m = s32[2,3] broadcast(n),"
        " dimensions={}\n q = s32[2,3] multiply(p, m)\n ROOT r = f32[3] gather(t, q),"
        " offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={1,0}, index_vector_dim=0,"
        " slice_sizes={1,1}\n}");
    EXPECT_TRUE(picks(text)) << text;
    expect_as_evaluated(text);
  }
}

TEST(CpuJoinedTables, RowsOfDynamicSlices) {
  for (const std::string_view lines : kTables) {
    for (const int at : {-3, 0, 2, 3, 19, 20, 39, 40, 42, 43, 59, 60, 99}) {
      const std::string text =
          cat(table(with_inputs(lines)), " p = s32[] parameter(3)\n i = s32[] constant(", at,
              ")\n h = s32[] subtract(p, p)\n q = s32[] add(h, i)\n o = s32[] constant(0)\n",
              " ROOT r = f32[1,7] dynamic-slice(t, q, o), dynamic_slice_sizes={1,7}\n}");
      EXPECT_TRUE(picks(text)) << text;
      expect_as_evaluated(text);
    }
  }
}

TEST(CpuJoinedTables, SeveralRowsOfDynamicSlices) {
  for (const std::string_view lines : kTables) {
    for (const int at : {-3, 0, 1, 2, 18, 19, 38, 40, 41, 55, 56, 57, 58, 99}) {
      const std::string text =
          cat(table(with_inputs(lines)), " p = s32[] parameter(3)\n i = s32[] constant(", at,
              ")\n h = s32[] subtract(p, p)\n q = s32[] add(h, i)\n o = s32[] constant(2)\n",
              " ROOT r = f32[3,5] dynamic-slice(t, q, o), dynamic_slice_sizes={3,5}\n}");
      EXPECT_TRUE(picks(text)) << text;
      expect_as_evaluated(text);
    }
  }
}

TEST(CpuJoinedTables, SlicesAtKnownPlaces) {
  for (const std::string_view lines : kTables) {
    const bool is_known = lines.find("dynamic-update-slice") == std::string_view::npos;
    const auto is_dense = [](std::string_view rows) { return std::ranges::count(rows, ':') == 1; };
    for (const auto& [rows, count] : {std::pair("[0:3]", 3),
                                      {"[1:6]", 5},
                                      {"[18:23]", 5},
                                      {"[38:43]", 5},
                                      {"[56:60]", 4},
                                      {"[2:60:20]", 3},
                                      {"[3:56:17]", 4},
                                      {"[0:60:59]", 2},
                                      {"[41:42]", 1}}) {
      const std::string text =
          cat(table(with_inputs(lines)), " p = s32[] parameter(3)\n ROOT r = f32[", count,
              ",5] slice(t), slice={", rows, ", [1:6]}\n}");
      EXPECT_EQ(picks(text), is_known || is_dense(rows)) << text;
      expect_as_evaluated(text);
    }
  }
  const std::string updated = table(
      " z = f32[60,7] pad(x, v), padding=0_20x0_0\n s = s32[] constant(50)\n o = s32[] "
      "constant(0)\n"
      " t = f32[60,7] dynamic-update-slice(z, y, s, o)\n ROOT r = f32[4,7] slice(t), "
      "slice={[38:42],"
      " [0:7]}\n}");
  EXPECT_TRUE(picks(updated));
  expect_as_evaluated(updated);
}

// Windows of a padded image at several places, as crops of it; some reach beyond its sides.
TEST(CpuJoinedTables, WindowsOfPaddedImages) {
  for (const char* type : {"s32", "u8"}) {
    const std::string text =
        cat("HloModule m\nENTRY e {\n x = f32[30,20,2] parameter(0)\n v = f32[] parameter(1)\n"
            " t = f32[38,29,2] pad(x, v), padding=4_4x5_4x0_0\n p = ",
            type,
            "[3,2] parameter(2)\n"
            " n = ",
            type, "[] constant(9)\n m = ", type, "[3,2] broadcast(n), dimensions={}\n q = ", type,
            "[3,2] multiply(p, m)\n ROOT r = f32[3,6,4,2] gather(t, q), offset_dims={1,2,3},"
            " collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, "
            "slice_sizes={6,4,2}\n}");
    EXPECT_TRUE(picks(text)) << text;
    expect_as_evaluated(text);
  }
  // A signal: each window's start is a number of its own.
  const std::string signal =
      "HloModule m\nENTRY e {\n x = f32[300] parameter(0)\n v = f32[] parameter(1)\n"
      " t = f32[332] pad(x, v), padding=16_16\n p = s32[4] parameter(2)\n n = s32[] constant(77)\n"
      " m = s32[4] broadcast(n), dimensions={}\n q = s32[4] multiply(p, m)\n"
      " ROOT r = f32[4,9] gather(t, q), offset_dims={1}, collapsed_slice_dims={},"
      " start_index_map={0}, index_vector_dim=1, slice_sizes={9}\n}";
  EXPECT_TRUE(picks(signal));
  expect_as_evaluated(signal);
}

TEST(CpuJoinedTables, RowsOfArraysSideBySide) {
  const std::string text =
      "HloModule m\nENTRY e {\n x = f32[90,3] parameter(0)\n y = f32[90,4] parameter(1)\n"
      " t = f32[90,7] concatenate(x, y), dimensions={1}\n p = s32[5] parameter(2)\n"
      " ROOT r = f32[5,7] gather(t, p), offset_dims={1}, collapsed_slice_dims={0},"
      " start_index_map={0}, index_vector_dim=1, slice_sizes={1,7}\n}";
  EXPECT_TRUE(picks(text));
  expect_as_evaluated(text);
}

TEST(CpuJoinedTables, RowsOfOtherUpdatedColumns) {
  for (const std::string_view lines : {" t = f32[40,9] pad(x, v), padding=0_0x2_0\n",
                                       " z = f32[40,9] pad(x, v), padding=0_0x2_0\n w = f32[40,2] "
                                       "slice(x), slice={[0:40], [0:2]}\n"
                                       " o = s32[] constant(0)\n s = s32[] constant(6)\n"
                                       " t = f32[40,9] dynamic-update-slice(z, w, o, s)\n"}) {
    const std::string text =
        cat(table(lines), " p = s32[4] parameter(3)\n ROOT r = f32[4,9] gather(t, p),",
            " offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,",
            " slice_sizes={1,9}\n}");
    EXPECT_TRUE(picks(text)) << text;
    expect_as_evaluated(text);
  }
}

// x.at[at].set(y), of one row and of three, read at several places. What does not fit is dropped.
TEST(CpuJoinedTables, PlacesOfScatters) {
  const std::string_view scatters[] = {
      " u = f32[7] parameter(1)\n t = f32[40,7] scatter(x, q, u), update_window_dims={0},"
      " inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=0,"
      " to_apply=second\n",
      " u = f32[3,7] parameter(1)\n t = f32[40,7] scatter(x, q, u), update_window_dims={0,1},"
      " inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0,"
      " to_apply=second\n",
      " u = f32[40] parameter(1)\n t = f32[40,7] scatter(x, q, u), update_window_dims={0},"
      " inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=0,"
      " to_apply=second\n"};
  const std::string_view readers[] = {
      " ROOT r = f32[4,7] gather(t, p), offset_dims={1}, collapsed_slice_dims={0},"
      " start_index_map={0}, index_vector_dim=1, slice_sizes={1,7}\n}",
      " p0 = s32[1] slice(p), slice={[0:1]}\n i = s32[] reshape(p0)\n o = s32[] constant(0)\n"
      " ROOT r = f32[2,7] dynamic-slice(t, i, o), dynamic_slice_sizes={2,7}\n}",
      " ROOT r = f32[4,7] slice(t), slice={[2:6], [0:7]}\n}"};
  for (const std::string_view scatter : scatters) {
    for (const std::string_view reader : readers) {
      for (const int at : {-1, 0, 1, 3, 5, 37, 38, 39, 40, 41, 2147483647}) {
        const std::string text =
            cat("HloModule m\nsecond {\n a = f32[] parameter(0)\n ROOT b = f32[] parameter(1)\n}\n",
                "ENTRY e {\n x = f32[40,7] parameter(0)\n p = s32[4] parameter(2)\n",
                " h = s32[1] parameter(3)\n d = s32[1] subtract(h, h)\n c = s32[1] constant({", at,
                "})\n q = s32[1] add(d, c)\n", scatter, reader);
        EXPECT_TRUE(picks(text)) << text;
        expect_as_evaluated(text);
      }
    }
  }
  // No s8 is 200, which would stand for a scatter that does not fit.
  const std::string narrow =
      "HloModule m\nf {\n a = f32[] parameter(0)\n ROOT b = f32[] parameter(1)\n}\nENTRY e {\n"
      " x = f32[200] iota(), iota_dimension=0\n u = f32[5] parameter(0)\n s = s8[1] "
      "constant({-1})\n"
      " i = s32[4] constant({0,126,127,128})\n t = f32[200] scatter(x, s, u),"
      " update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0},"
      " index_vector_dim=0, to_apply=f\n ROOT g = f32[4] gather(t, i), offset_dims={},"
      " collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}\n}";
  EXPECT_FALSE(picks(narrow));
  expect_as_evaluated(narrow);
  // A sum with the old row is none of the parts.
  EXPECT_FALSE(picks(
      "HloModule m\nsum {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
      " ROOT c = f32[] add(a, b)\n}\nENTRY e {\n x = f32[40,7] parameter(0)\n"
      " u = f32[7] parameter(1)\n q = s32[1] parameter(2)\n t = f32[40,7] scatter(x, q, u),"
      " update_window_dims={0}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},"
      " index_vector_dim=0, to_apply=sum\n ROOT r = f32[1,7] slice(t), slice={[3:4], [0:7]}\n}"));
}

TEST(CpuJoinedTables, StayWhereAllIsNeeded) {
  const std::string joined = table(kTables[0]);
  const auto gather = [](int count, std::string_view rest) {
    return cat(" p = s32[", count, "] parameter(3)\n ", rest, "r = f32[", count,
               ",7] gather(t, p), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},"
               " index_vector_dim=1, slice_sizes={1,7}\n");
  };
  EXPECT_TRUE(picks(cat(joined, gather(7, "ROOT "), "}")));
  EXPECT_FALSE(picks(cat(joined, gather(8, "ROOT "), "}")));  // more than an eighth
  EXPECT_FALSE(picks(cat(joined, gather(7, ""), " ROOT o = (f32[7,7], f32[60,7]) tuple(r, t)\n}")));
  // No u8 is 300.
  EXPECT_FALSE(
      picks("HloModule m\nENTRY e {\n x = f32[300] parameter(0)\n y = f32[5] parameter(1)\n"
            " t = f32[305] concatenate(x, y), dimensions={0}\n p = u8[5] parameter(2)\n"
            " ROOT r = f32[5] gather(t, p), offset_dims={}, collapsed_slice_dims={0},"
            " start_index_map={0}, index_vector_dim=1, slice_sizes={1}\n}"));
}

}  // namespace
}  // namespace heddle::cpu
