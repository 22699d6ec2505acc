#include "heddle/cpu/kernels/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "heddle/base/system/subnormals.h"

namespace heddle::cpu {
namespace {

using namespace std::chrono_literals;

// Every part ran once.
void expect_each_once(int64_t parts) {
  std::vector<std::atomic<int>> runs(static_cast<size_t>(parts));
  parallel(parts, [&](int64_t part) { ++runs[static_cast<size_t>(part)]; });
  for (const auto& count : runs) ASSERT_EQ(count, 1) << parts << " parts";
}

TEST(Pool, RunsEachPartOnce) {
  for (int64_t parts : {0, 1, 2, 3, 17, 1000}) expect_each_once(parts);
}

// A thread that still looks at one job must take no part of the next one by mistake.
TEST(Pool, JobsFollowEachOther) {
  for (int64_t i = 0; i < 20'000; ++i) expect_each_once(1 + i % 5);
}

TEST(Pool, SeveralThreadsCallIt) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([] {
      for (int64_t k = 0; k < 5'000; ++k) expect_each_once(1 + k % 7);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(Pool, AThreadThatWantsNoHelpHasNone) {
  const auto own = std::this_thread::get_id();
  const WithoutHelp alone(true);
  {
    const WithoutHelp inner(false);  // what is around it still holds
    for (int i = 0; i < 1'000; ++i)
      parallel(8, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), own); });
  }
  parallel(8, [&](int64_t) { EXPECT_EQ(std::this_thread::get_id(), own); });
}

// The threads were made while subnormals were kept, or not: no matter.
TEST(Pool, PartsComputeAsTheCallerDoes) {
  const volatile double least = 0x1p-1074;
  for (int round = 0; round < 500; ++round) {
    const FlushSubnormals flush(round % 2 == 1);
    std::atomic<int> zeros = 0;
    parallel(64, [&](int64_t) { zeros += least * 1.0 == 0.0 ? 1 : 0; });
    ASSERT_EQ(zeros, round % 2 == 1 ? 64 : 0);
  }
}

// The threads that run 64 parts; each takes its time for one.
int helpers_of_a_job(std::chrono::milliseconds time) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> others = 0;
  parallel(64, [&](int64_t) {
    if (std::this_thread::get_id() == caller) return std::this_thread::sleep_for(1us);
    ++others;
    std::this_thread::sleep_for(time);
  });
  return others;
}

TEST(Pool, DoesWithoutHelpThatComesLate) {
  if (thread_count() == 1) GTEST_SKIP() << "one processor";
  bool is_alone = false;
  for (int i = 0; i < 1000 && !is_alone; ++i)
    is_alone = helpers_of_a_job(20ms) > 0 && helpers_of_a_job(0ms) == 0;
  EXPECT_TRUE(is_alone);
  while (helpers_of_a_job(0ms) == 0) {  // not for ever
  }
}

TEST(Pool, WhatPartsWroteIsSeenAfterwards) {
  std::vector<int64_t> values(64);
  for (int64_t round = 0; round < 5'000; ++round) {
    parallel(64, [&](int64_t part) { values[static_cast<size_t>(part)] += part; });
  }
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], 5'000 * static_cast<int64_t>(i));
}

}  // namespace
}  // namespace heddle::cpu
