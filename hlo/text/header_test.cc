// What stands in the first line, and around computations.
#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"

namespace heddle::hlo {
namespace {

constexpr std::string_view kBody = R"(
ENTRY %main (a: f32[2], b: f32[2]) -> (f32[2], f32[2]) {
  %a = f32[2]{0} parameter(0)
  %b = f32[2]{0} parameter(1)
  ROOT %r = (f32[2]{0}, f32[2]{0}) tuple(%a, %b)
}

)";
constexpr std::string_view kLayout =
    "entry_computation_layout={(f32[2]{0}, f32[2]{0})->(f32[2]{0}, f32[2]{0})}";

// The first line that `header` comes back as, or the error.
std::string reprint(std::string_view header) {
  auto module = parse_text(base::cat(header, "\n", kBody));
  if (!module.ok()) return base::message_of(module.status());
  std::string text = print(*module);
  return text.substr(0, text.find('\n'));
}

class Header : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Header, ComesBackAsItWas) {
  std::string line = base::cat("HloModule m", GetParam());
  if (size_t at = line.find("LAYOUT"); at != std::string::npos) line.replace(at, 6, kLayout);
  EXPECT_EQ(reprint(line), line);
}

INSTANTIATE_TEST_SUITE_P(
    HloText, Header,
    ::testing::Values(
        ", LAYOUT", ", is_scheduled=true, LAYOUT",
        ", input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, must-alias) }, LAYOUT",
        ", buffer_donor={ (0, {}), (1, {}) }, LAYOUT", ", alias_passthrough_params=true, LAYOUT",
        ", LAYOUT, allow_spmd_sharding_propagation_to_parameters={true,false}, "
        "allow_spmd_sharding_propagation_to_output={true}, replica_count=2, num_partitions=4",
        ", LAYOUT, frontend_attributes={a=\"b\\n\",c.d={x = #y<[\"i\"=1]>}}",
        ", LAYOUT, origin_recovery_table={{\"x\"}: {\"y\"}, \"m\"}",
        ", entry_computation_layout={(f32[2]{0:T(128)}, f32[2]{0})->(f32[2]{0}, f32[2]{0:S(1)})}"));

TEST(Header, SortsFrontendAttributes) {
  EXPECT_THAT(reprint("HloModule m, frontend_attributes={z=\"1\",a=\"2\"}"),
              HasSubstr("{a=\"2\",z=\"1\"}"));
}

TEST(Header, TakesAnAliasOfNoKindForMayAlias) {
  EXPECT_THAT(reprint("HloModule m, input_output_alias={ {0}: (1, {}) }"),
              HasSubstr("{0}: (1, {}, may-alias)"));
}

TEST(Header, DropsALayoutThatTheEntryTellsAnyway) {
  auto module = parse_text(base::cat("HloModule m, ", kLayout, kBody));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_FALSE(module->extras.has_value());
}

TEST(Header, NamesAModuleWithoutOneAfterItsEntry) {
  EXPECT_THAT(reprint(""), StartsWith("HloModule main, "));
}

TEST(Header, KeepsFramesAsTheyStand) {
  std::string frames =
      "FileNames\n1 \"a.py\"\n2 \"b{.py\"\n\nFunctionNames\n1 \"f\"\n\nFileLocations\n"
      "1 {file_name_id=1 function_name_id=1 line=3}\n\nStackFrames\n1 {file_location_id=1 "
      "parent_frame_id=1}";
  auto module = parse_text(base::cat("HloModule m\n\n", frames, "\n\n", kBody));
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->extras->frames, frames);
  EXPECT_THAT(print(*module),
              StartsWith(base::cat("HloModule m, ", kLayout, "\n\n", frames, "\n", kBody)));
  EXPECT_THAT(print(*module, {.metadata = false}),
              StartsWith(base::cat("HloModule m, ", kLayout, "\n", kBody)));
}

TEST(Header, RefusesFramesThatDoNotCountFromOne) {
  EXPECT_THAT(reprint("HloModule m\n\nFileNames\n1 \"a.py\"\n3 \"b.py\"\n"),
              HasSubstr("5:1: entry 3 stands where 2 must"));
  EXPECT_THAT(reprint("HloModule m\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=0}\n"),
              HasSubstr("4:39: parent_frame_id is 0; it must be at least 1"));
  EXPECT_THAT(reprint("HloModule m\n\nFileLocations\n1 {line=1 color=2}\n"),
              HasSubstr("frames have no color"));
}

TEST(Header, KeepsThreadsOfComputations) {
  std::string text = base::cat(
      "HloModule m\n\n%f (x: f32[]) -> f32[] {\n  ROOT %x = f32[] parameter(0)\n}, "
      "execution_thread=\"host\"\n",
      kBody);
  auto module = parse_text(text);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(module->computations[0].execution_thread, "host");
  EXPECT_THAT(print(*module), HasSubstr("\n}, execution_thread=\"host\"\n\nENTRY"));
}

struct Bad {
  std::string_view header;
  std::string_view error;
};

class BadHeader : public ::testing::TestWithParam<Bad> {};

TEST_P(BadHeader, IsRefused) {
  EXPECT_THAT(reprint(GetParam().header), HasSubstr(GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    HloText, BadHeader,
    ::testing::Values(
        Bad{"HloModule", "expected the module's name but found 'ENTRY'"},
        Bad{"HloModule , is_scheduled=true", "expected a name but found ','"},
        Bad{"HloModule ENTRY", "1:11: expected the module's name but found 'ENTRY'"},
        Bad{"HloModule m,", "expected '='"},
        Bad{"HloModule m, x=1", "1:14: a module has no attribute x"},
        Bad{"HloModule m, is_scheduled", "expected '='"},
        Bad{"HloModule m, is_scheduled=true, is_scheduled=true",
            "1:33: is_scheduled stands in the header twice"},
        Bad{"HloModule m, input_output_alias={ {2}: (0, {}) }",
            "output {2} is not in (f32[2], f32[2])"},
        Bad{"HloModule m, input_output_alias={ {}: 0 }", "1:39: expected '(' but found '0'"},
        Bad{"HloModule m, input_output_alias={ {0}: (9, {}) }", "there is no parameter 9"},
        Bad{"HloModule m, entry_computation_layout={(f32[2])->f32[2]}",
            "1:14: entry_computation_layout has 1 parameters"},
        Bad{"HloModule m, entry_computation_layout={(f32[2], f32[3])->()}",
            "has f32[3] for parameter 1; the entry has f32[2]"},
        Bad{"HloModule m, entry_computation_layout={(f32[2], f32[2])->()}",
            "has the result (); the entry's is"}));

}  // namespace
}  // namespace heddle::hlo
