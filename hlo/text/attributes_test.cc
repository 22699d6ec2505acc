// What any instruction may carry, and values whose text has forms of its own.
#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

// `add(%x, %x)` with the attributes, as it comes back; or the error.
std::string reprint(std::string_view attributes, PrintOptions options = {}) {
  auto module = parse_text(
      base::cat("ENTRY %main {\n  %x = f32[] parameter(0)\n  ROOT %r = f32[] add(%x, %x)",
                attributes, "\n}"));
  if (!module.ok()) return base::message_of(module.status());
  std::string text = print(*module, options);
  size_t at = text.find("add(") + 4;
  at = text.find(')', at) + 1;
  return text.substr(at, text.find('\n', at) - at);
}

class Attributes : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Attributes, ComeBackAsTheyWere) { EXPECT_EQ(reprint(GetParam()), GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    HloText, Attributes,
    ::testing::Values(
        "", ", sharding={replicated}", ", sharding={maximal device=3}", ", sharding={manual}",
        ", sharding={unknown}", ", sharding={unreduced}", ", sharding={devices=[2,2]<=[4]}",
        ", sharding={devices=[2,2]<=[2,2]T(1,0)}",
        ", sharding={devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}",
        ", sharding={devices=[2,1,2]<=[4] last_tile_dims={manual, replicated} shard_like 2}",
        ", sharding={replicated shard_as 1}",
        ", sharding={{replicated}, {devices=[2]0,1}, {manual}}", ", sharding={}",
        ", sharding={{replicated}, {manual}, {manual}, {manual}, {manual}, /*index=5*/{manual}}",
        ", sharding={mesh[a=2,b=2], [{a},{b,?}], replicated={b}}",
        ", sharding={{replicated}, {mesh[a=2], [{a}]}}",
        ", sharding={replicated metadata={op_name=\"x}\"}}",
        ", frontend_attributes={a=\"\",b={\"c\": 1},c=\"{\"}",
        ", statistics={visualizing_index=0,nan_cnt=1}", ", origin={{\"v\" {1}}, {}}",
        ", metadata={op_type=\"Add\" op_name=\"jit(f)/add\" source_file=\"f.py\" source_line=3 "
        "source_end_line=4 source_column=5 "
        "source_end_column=6 profile_type={1} deduplicated_name=\"d\" scheduling_name=\"s\" "
        "stack_frame_id=9}",
        ", backend_config={\"a\":[\"}\"]}", ", backend_config=\"plain\\ttext\"",
        ", sharding={manual}, frontend_attributes={a=\"b\"}, control-predecessors={%x}, "
        "metadata={op_name=\"n\"}, backend_config=\"c\""));

TEST(Attributes, ComeInAnyOrder) {
  EXPECT_EQ(
      reprint(", backend_config=\"c\", metadata={source_line=3, op_name='n'}, sharding={manual}"),
      ", sharding={manual}, metadata={op_name=\"n\" source_line=3}, backend_config=\"c\"");
}

TEST(Attributes, LeaveMetadataOutOnRequest) {
  EXPECT_EQ(reprint(", metadata={op_name=\"n\"}, backend_config=\"c\"", {.metadata = false}),
            ", backend_config=\"c\"");
}

TEST(Attributes, DropWhatOlderXlasWroteIntoMetadata) {
  EXPECT_EQ(
      reprint(", metadata={op_name=\"n\" preserve_layout=true size_of_generated_code_in_bytes=7}"),
      ", metadata={op_name=\"n\"}");
}

struct Bad {
  std::string_view attributes;
  std::string_view error;
};

class BadAttributes : public ::testing::TestWithParam<Bad> {};

TEST_P(BadAttributes, AreRefused) {
  EXPECT_THAT(reprint(GetParam().attributes), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    HloText, BadAttributes,
    ::testing::Values(
        Bad{", dimensions={0}", "3:32: add has no attribute dimensions"},
        Bad{", sharding={manual}, sharding={manual}", "3:51: add: sharding stands here twice"},
        Bad{" sharding={manual}", "3:40: expected"}, Bad{", sharding", "expected '='"},
        Bad{",", "expected name="}, Bad{", metadata={op_nam=\"\"}", "metadata has no op_nam"},
        Bad{", metadata={op_name=\"\" op_name=\"\"}", "op_name stands here twice"},
        Bad{", frontend_attributes={a=\"\",a=\"\"}", "the attribute a stands in this group twice"},
        Bad{", control-predecessors={%y}", "control predecessor y is not defined"},
        Bad{", backend_config=x", "expected a string in quotes but found 'x'"},
        Bad{", sharding={devices=[2}", "expected ',' but found '}'"},
        Bad{", sharding={devices=[2]<=[2]unknown}",
            "sharding: says {devices unknown}; must say one"},
        Bad{", sharding={replicated manual}", "sharding: says {replicated manual}; must say one"},
        Bad{", sharding={shard_as 1}", "sharding: says {}; must say one of replicated, maximal,"},
        Bad{", sharding={manual manual}", "sharding: manual stands here twice"},
        Bad{", sharding={maximal}", "sharding: maximal lacks device=; maximal, and it alone"},
        Bad{", sharding={manual device=1}", "sharding: manual with device=; maximal, and it"},
        Bad{", sharding={manual last_tile_dims={manual}}", "manual with last_tile_dims; must be"},
        Bad{", sharding={unknown last_tile_dim_replicate}", "must be devices=[..]"},
        Bad{", sharding={manual", "expected"}, Bad{", origin={", "the text ends"}));

// The window of a reduce-window over f32[9,9], as it comes back; or the error.
std::string reprint_window(std::string_view window, std::string_view result) {
  auto module = parse_text(
      base::cat("f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
                "ENTRY m { x = f32[9,9] parameter(0) z = f32[] constant(0)\n ROOT r = ",
                result, " reduce-window(x, z), window=", window, ", to_apply=f }"));
  if (!module.ok()) return base::message_of(module.status());
  std::string text = print(*module);
  size_t at = text.find("window={") + 7;
  return text.substr(at, text.find('}', at) + 1 - at);
}

TEST(WindowText, LeavesDefaultsOut) {
  EXPECT_EQ(reprint_window("{size=2x3 stride=1x1 pad=0_0x0_0 lhs_dilate=1x1 rhs_reversal=0x0}",
                           "f32[8,7]"),
            "{size=2x3}");
}

TEST(WindowText, TakesCommasAndAnyOrder) {
  EXPECT_EQ(reprint_window("{pad=-1_0x1_1, size=2x3}", "f32[7,9]"), "{size=2x3 pad=-1_0x1_1}");
}

TEST(WindowText, RefusesPartsOfUnlikeLength) {
  EXPECT_THAT(reprint_window("{size=2x3 stride=1}", "f32[8,7]"),
              HasSubstr("the window has 2 dimensions, not 1"));
  EXPECT_THAT(reprint_window("{size=2x3 stride=1x1x1}", "f32[8,7]"),
              HasSubstr("the window has only 2 dimensions"));
  EXPECT_THAT(reprint_window("{size=2x3 dilate=1x1}", "f32[8,7]"),
              HasSubstr("a window has no dilate"));
}

}  // namespace
}  // namespace heddle::hlo
