#include "heddle/transform/trip_count.h"

#include <gtest/gtest.h>

#include "heddle/hlo/text.h"
#include "heddle/transform/pass.h"
#include "heddle/transform/support_test.h"

namespace heddle::transform {
namespace {

std::optional<int64_t> read(const std::string& config) {
  hlo::Instruction loop;
  loop.opcode = hlo::Opcode::kWhile;
  if (!config.empty()) loop.extras.mutate().backend_config = config;
  return known_trip_count(loop);
}

TEST(TripCount, WhatIsWrittenIsRead) {
  EXPECT_EQ(trip_count_config(10), R"({"known_trip_count":{"n":"10"}})");
  for (int64_t trips : {int64_t{0}, int64_t{1}, int64_t{10}, INT64_MAX})
    EXPECT_EQ(read(trip_count_config(trips)), trips);
}

TEST(TripCount, IsReadAsXlaMayWriteIt) {
  EXPECT_EQ(read(R"({"known_trip_count": {"n": "7"}, "known_init_step": {"init": "0"}})"), 7);
  EXPECT_EQ(read("{\n \"known_trip_count\" : {\n \"n\" : 7 } }"), 7);
  EXPECT_EQ(
      read(R"({"known_induction_variable":{"tuple_index":"0"},"known_trip_count":{"n":"3"}})"), 3);
}

TEST(TripCount, IsNoneWhereTheConfigSaysNone) {
  EXPECT_EQ(read(""), std::nullopt);
  EXPECT_EQ(read("{}"), std::nullopt);
  EXPECT_EQ(read(R"({"known_trip_count":{}})"), std::nullopt);
  EXPECT_EQ(read(R"({"known_trip_count":{"m":"3"}})"), std::nullopt);
}

TEST(TripCount, IsNoneWhereTheNumberIsNoCount) {
  EXPECT_EQ(read(R"({"known_trip_count":{"n":"-1"}})"), std::nullopt);
  EXPECT_EQ(read(R"({"known_trip_count":{"n":"many"}})"), std::nullopt);
  EXPECT_EQ(read(R"({"known_trip_count":{"n":"99999999999999999999"}})"), std::nullopt);
  EXPECT_EQ(read(R"({"known_trip_count)"), std::nullopt);
}

// Every loop that lowering writes says how often it runs.
TEST(TripCount, StandsOnTheLoopsOfLoweredScans) {
  const hlo::Module scan = *hlo::parse_text(kScan);
  const hlo::Module lowered = *lower_scan(scan);
  int loops = 0;
  for (const hlo::Instruction& instruction : lowered.entry_computation().instructions) {
    if (instruction.opcode != hlo::Opcode::kWhile) continue;
    EXPECT_EQ(known_trip_count(instruction), 5);
    ++loops;
  }
  EXPECT_EQ(loops, 1);
}

}  // namespace
}  // namespace heddle::transform
