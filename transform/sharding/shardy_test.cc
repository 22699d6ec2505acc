// What to-shardy refuses; tests/golden/to-shardy shows what it writes.
#include "heddle/transform/sharding/shardy.h"

#include "heddle/base/support_test.h"
#include "heddle/hlo/text.h"
#include "heddle/hlo/verify.h"
#include "heddle/transform/pass.h"

namespace heddle::transform {
namespace {

// Of a program on six devices that marks a parameter so.
std::string refusal(const std::string& sharding, const std::string& other = "{replicated}") {
  const auto module = hlo::parse_text(base::cat(
      "HloModule m, num_partitions=6\nENTRY main { x = f32[12,12] parameter(0), sharding=",
      sharding, " ROOT y = f32[12,12] custom-call(x), custom_call_target=\"Sharding\", sharding=",
      other, " }"));
  EXPECT_TRUE(module.ok()) << module.status();
  return base::message_of(to_shardy(*module).status());
}

// A program with a mark between a parameter and a result that are whole.
std::string marked(const std::string& sharding) {
  const auto module = hlo::parse_text(base::cat(
      "HloModule m, num_partitions=6\nENTRY main { x = f32[12,12] parameter(0) y = f32[12,12] "
      "custom-call(x), custom_call_target=\"Sharding\", sharding=",
      sharding, " ROOT z = f32[12,12] negate(y) }"));
  EXPECT_TRUE(module.ok()) << module.status();
  const auto written = to_shardy(*module);
  return written.ok() ? "" : base::message_of(written.status());
}

TEST(ToShardy, RefusesWhatNoMeshHas) {
  EXPECT_THAT(refusal("{devices=[2,3]0,2,4,1,3,5}"),
              HasSubstr("has devices in an order of its own; write it as <=[..]"));
  EXPECT_THAT(refusal("{devices=[2,3]<=[6]}", "{devices=[3,2]<=[6]}"),
              HasSubstr("shardings cut 6 devices in 2 and in 3, which no one mesh does"));
  EXPECT_THAT(refusal("{devices=[2,3]<=[3,2]}"),
              HasSubstr("cuts a dimension across axes of its devices"));
  EXPECT_THAT(refusal("{devices=[2,2]<=[4]}"),
              HasSubstr("is of other devices than the 6 of the program"));
  EXPECT_THAT(refusal("{devices=[1,5]<=[5]}"), HasSubstr("is of other devices"));
  EXPECT_THAT(refusal("{manual}"), HasSubstr("places no elements"));
}

// It also refuses shardings of marks, which are between the parameters and the results.
TEST(ToShardy, RefusesShardingsThatAreNotOfTheirArray) {
  EXPECT_EQ(refusal("{replicated}", "{devices=[2,3]1,2,3,4,5,6}"),
            "sharding {devices=[2,3]1,2,3,4,5,6}: is of other devices than 0 .. 5; must "
            "name each once");
  EXPECT_THAT(marked("{devices=[2,3]0,0,1,1,2,2}"), HasSubstr("must name each once"));
  EXPECT_THAT(marked("{devices=[6]<=[6]}"), HasSubstr("is of 1 dimensions; f32[12,12] has 2"));
  EXPECT_THAT(marked("{devices=[2,3]<=[6] last_tile_dim_replicate}"),
              HasSubstr("is of 1 dimensions"));
  EXPECT_THAT(marked("{devices=[1,1,6]<=[6]}"), HasSubstr("is of 3 dimensions"));
  EXPECT_EQ(marked("{devices=[1,2,3]<=[6] last_tile_dim_replicate}"), "");
}

TEST(ToShardy, RefusesATileAsTheResult) {
  const auto module = hlo::parse_text(
      "HloModule m, num_partitions=2\nENTRY main { x = f32[4] parameter(0), "
      "sharding={devices=[2]<=[2]} s = f32[4] custom-call(x), custom_call_target=\"Sharding\", "
      "sharding={devices=[2]<=[2]} ROOT p = f32[2] custom-call(s), "
      "custom_call_target=\"SPMDFullToShardShape\" }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(base::message_of(to_shardy(*module).status()),
              HasSubstr("custom-call p is not at the edge of a shard_map's call"));
}

TEST(ToShardy, ProgramsForMoreDevicesThanThereAreAreNone) {
  const auto module = hlo::parse_text(
      "HloModule m, num_partitions=1099511627776\nENTRY main { ROOT x = f32[8] parameter(0), "
      "sharding={replicated} }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(base::message_of(hlo::verify(*module)),
              HasSubstr("is for 1 replicas of 1099511627776 partitions; must be at most 4194304"));
  EXPECT_TRUE(to_shardy(*module).ok());  // without lists of devices, if nobody asked for them
}

// The pass has its name once.
TEST(ToShardy, SaysWhoRefuses) {
  const auto module = hlo::parse_text(
      "HloModule m, num_partitions=2\nENTRY main { ROOT x = f32[4,5] parameter(0), "
      "sharding={devices=[1,2]<=[2]} }");
  const auto result = run_pipeline(*module, kXlaPasses, {});
  EXPECT_THAT(base::message_of(result.status()),
              ::testing::StartsWith("to-shardy: sharding {devices"));
}

TEST(ToShardy, RefusesPartsThatAreNotFull) {
  const auto module = hlo::parse_text(
      "HloModule m, num_partitions=2\nENTRY main { ROOT x = f32[4,5] parameter(0), "
      "sharding={devices=[1,2]<=[2]} }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ(base::message_of(to_shardy(*module).status()),
            "sharding {devices=[1,2]<=[2]} cuts dimension 1 of f32[4,5] in 2 parts, of "
            "which it is no multiple; leave it to GSPMD");
}

TEST(ToShardy, RefusesMarksWithoutTheirCall) {
  const auto module = hlo::parse_text(
      "HloModule m, num_partitions=2\nENTRY main { x = f32[4] parameter(0) "
      "s = f32[4] custom-call(x), custom_call_target=\"Sharding\", sharding={devices=[2]<=[2]} "
      "p = f32[2] custom-call(s), custom_call_target=\"SPMDFullToShardShape\", sharding={manual} "
      "q = f32[2] sine(p) ROOT w = f32[4] custom-call(q), "
      "custom_call_target=\"SPMDShardToFullShape\", sharding={devices=[2]<=[2]} }");
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_THAT(base::message_of(to_shardy(*module).status()),
              HasSubstr("custom-call w is not at the edge of a shard_map's call"));
}

}  // namespace
}  // namespace heddle::transform
