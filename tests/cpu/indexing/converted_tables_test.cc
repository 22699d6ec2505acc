// Rows of converted tables, and conversions that several steps read.
#include "heddle/cpu/rewrites/indexing/converted_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

using base::cat;

// Rows of x[50, width], converted.
std::string rows(std::string_view from, std::string_view to, int width, int count) {
  return cat("HloModule m\nENTRY e {\n x = ", from, "[50,", width, "] parameter(0)\n p = s32[",
             count, "] parameter(1)\n c = ", to, "[50,", width, "] convert(x)\n ROOT r = ", to, "[",
             count, ",", width, "] gather(c, p), offset_dims={1}, collapsed_slice_dims={0},",
             " start_index_map={0}, index_vector_dim=1, slice_sizes={1,", width, "}\n}\n");
}

bool is_moved(const std::string& text) {
  const hlo::Module module = convert_what_is_taken(hlo::parse_text(text).value()).value();
  return module.entry_computation().root_instruction().opcode == hlo::Opcode::kConvert;
}

TEST(ConvertedTables, RowsAreConverted) {
  for (const auto& [from, to] : {std::pair("u8", "s32"),
                                 {"u8", "f32"},
                                 {"s8", "bf16"},
                                 {"bf16", "f32"},
                                 {"f16", "f64"},
                                 {"pred", "f32"},
                                 {"f32", "f64"}}) {
    const std::string text = rows(from, to, 40, 60);
    EXPECT_TRUE(is_moved(text)) << text;
    expect_as_evaluated(text);
  }
}

TEST(ConvertedTables, OthersStay) {
  EXPECT_FALSE(is_moved(rows("u8", "s32", 15, 60))) << "short rows";
  EXPECT_FALSE(is_moved(rows("u8", "s32", 40, 101))) << "of which all are taken twice";
  EXPECT_FALSE(is_moved(rows("s32", "f32", 40, 60)));
  EXPECT_FALSE(is_moved(rows("f32", "u8", 40, 60)));
}

// (image * 3) of bytes, whose quarters are added and which is halved: no array of words.
TEST(ConvertedTables, ConversionsAreRepeated) {
  for (const std::string_view type : {"s32", "f32"}) {
    const std::string text = cat("HloModule m\nENTRY e {\n x = u8[48,70] parameter(0)\n w = ", type,
                                 "[48,70] convert(x)\n k = ", type, "[] constant(3)\n b = ", type,
                                 "[48,70] broadcast(k), dimensions={}\n y = ", type,
                                 "[48,70] multiply(w, b)\n p = ", type,
                                 "[24,35] slice(y), slice={[0:48:2], [0:70:2]}\n q = ", type,
                                 "[24,35] slice(y), slice={[1:48:2], [1:70:2]}\n s = ", type,
                                 "[24,35] add(p, q)\n h = ", type, "[48,70] add(y, b)\n ROOT t = (",
                                 type, "[24,35], ", type, "[48,70]) tuple(s, h)\n}\n");
    expect_as_evaluated(text);
    const std::string plan = stages_of(hlo::parse_text(text).value()).value().plan;
    EXPECT_THAT(plan, ::testing::HasSubstr("arena 0 bytes")) << text;
  }
}

}  // namespace
}  // namespace heddle::cpu
