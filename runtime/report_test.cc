#include "heddle/runtime/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "heddle/base/containers/span.h"
#include "heddle/runtime/registry.h"
#include "heddle/runtime/support_test.h"
#include "heddle/runtime/transfer.h"

namespace heddle::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Timer timer(std::string_view activity) {
  for (const Timer& timer : timers())
    if (timer.activity == activity) return timer;
  ADD_FAILURE() << "no timer " << activity;
  return {};
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST(Timers, OwnTimeIsWithoutWhatIsInside) {
  const Timer lower = timer("lower"), pass = timer("pass");
  {
    const base::Span outer(base::Activity::kLower);
    const base::Span inner(base::Activity::kPass);
    sleep_ms(20);
  }
  EXPECT_EQ(timer("lower").count - lower.count, 1);
  EXPECT_GE(timer("lower").total_ns - lower.total_ns, 20'000'000);
  EXPECT_LT(timer("lower").own_ns - lower.own_ns, 10'000'000);
  EXPECT_GE(timer("pass").own_ns - pass.own_ns, 20'000'000);
}

TEST(Timers, AnActivityInsideOfTheSameOneCountsOnce) {
  const Timer before = timer("trace");
  {
    const base::Span outer(base::Activity::kTrace);
    const base::Span inner(base::Activity::kTrace);
    sleep_ms(20);
  }
  const Timer after = timer("trace");
  EXPECT_EQ(after.count - before.count, 2);
  EXPECT_EQ(after.total_ns - before.total_ns >= 20'000'000, true);
  EXPECT_LT(after.total_ns - before.total_ns, 2 * (after.own_ns - before.own_ns));
}

TEST(Timers, TransfersAreTimedWhereSomebodyAsked) {
  const auto upload = [] {
    const auto device = find_device("interpreter");
    ASSERT_TRUE(device.ok());
    ASSERT_TRUE(to_device(**device, Literal::scalar(DType::kF32, 1.0), "test", {}).ok());
  };
  const int64_t before = timer("upload").count;
  upload();
  EXPECT_EQ(timer("upload").count, before);
  set_timing(true);
  upload();
  set_timing(false);
  EXPECT_EQ(timer("upload").count, before + 1);
  upload();
  EXPECT_EQ(timer("upload").count, before + 1);
}

TEST(Reports, HaveCountersTimersCachesAndDevices) {
  ASSERT_TRUE(find_device("interpreter").ok());
  { const base::Span span(base::Activity::kCompile); }
  const Report now = report();
  const auto is_there = [](const DeviceReport& d) { return d.name == "interpreter:0"; };
  EXPECT_GE(std::ranges::count_if(now.devices, is_there), 1);
  const std::string text = to_string(now);
  EXPECT_THAT(text, HasSubstr("time of compile: "));
  EXPECT_THAT(text, HasSubstr("device interpreter:0: "));
  EXPECT_THAT(text, HasSubstr("\nprogram cache: "));
  EXPECT_THAT(text, HasSubstr("\narray memory: "));
  EXPECT_THAT(to_string(Report()), Not(HasSubstr("disk_refused")));  // it is 0
}

TEST(Reports, AsJsonHaveAllOfTheirFields) {
  Report made;
  made.counters.traces = 3;
  made.timers = {{"trace", 1, 20, 10}};
  made.program_cache = {2, 1024};
  made.array_memory.cache_hits = 5;
  made.devices.push_back({.name = "odd \"name\"", .live_bytes = 7});
  const std::string json = to_json(made);
  EXPECT_THAT(json, HasSubstr("\"counters\": {\"traces\": 3, "));
  EXPECT_THAT(json, HasSubstr("\"trace\": {\"count\": 1, \"total_ns\": 20, \"own_ns\": 10}"));
  EXPECT_THAT(json, HasSubstr("\"program_cache\": {\"programs\": 2, \"capacity\": 1024}"));
  EXPECT_THAT(json, HasSubstr("\"array_memory\": {\"live_bytes\": 0, "));
  EXPECT_THAT(json, HasSubstr("\"cache_hits\": 5, "));
  EXPECT_THAT(json, HasSubstr("{\"name\": \"odd \\\"name\\\"\", \"live_bytes\": 7, "));
}

// A process of its own: the environment is read once, and the report written at its end.
TEST(ReportsDeathTest, OfAProcessAreWrittenAtItsEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string path = ::testing::TempDir() + "heddle_report.json";
  setenv("HEDDLE_REPORT", path.c_str(), 1);
  const auto upload = [] {
    const auto device = find_device("interpreter");
    (void)to_device(**device, Literal::scalar(DType::kF32, 1.0), "test", {});
    std::exit(0);
  };
  EXPECT_EXIT(upload(), ::testing::ExitedWithCode(0), "");
  unsetenv("HEDDLE_REPORT");
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, HasSubstr("\"upload\": {\"count\": 1, "));
  EXPECT_THAT(text, HasSubstr("\"name\": \"interpreter:0\""));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace heddle::runtime
