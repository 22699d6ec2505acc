#include "heddle/runtime/throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace heddle::runtime {
namespace {

using Tickets = std::vector<Throttle::Ticket>;

std::shared_ptr<Throttle> throttle(Throttle::Limits limits) {
  return std::make_shared<Throttle>(limits);
}

// Ends when so many calls have waited.
void until_waiting(const Throttle& throttle, int64_t waits) {
  while (throttle.load().waits < waits) std::this_thread::yield();
}

TEST(Throttle, CountsLaunchesAndBytesInFlight) {
  const auto t = throttle({.launches = 4, .bytes = 100});
  {
    const auto a = t->acquire(30), b = t->acquire(40);
    EXPECT_EQ(t->load().launches, 2);
    EXPECT_EQ(t->load().bytes, 70);
  }
  EXPECT_EQ(t->load().launches, 0);
  EXPECT_EQ(t->load().bytes, 0);
  EXPECT_EQ(t->load().peak_launches, 2);
  EXPECT_EQ(t->load().peak_bytes, 70);
  EXPECT_EQ(t->load().waits, 0);
}

TEST(Throttle, TriesWithoutWaiting) {
  const auto t = throttle({.launches = 2, .bytes = 100});
  Tickets tickets;
  tickets.push_back(t->acquire(60));
  EXPECT_FALSE(t->try_acquire(50).has_value());
  tickets.push_back(*t->try_acquire(40));
  EXPECT_FALSE(t->try_acquire(0).has_value());
  tickets.clear();
  EXPECT_TRUE(t->try_acquire(50).has_value());
}

TEST(Throttle, ALaunchLargerThanTheBudgetGoesAlone) {
  const auto t = throttle({.launches = 8, .bytes = 100});
  {
    const auto large = t->try_acquire(1000);
    ASSERT_TRUE(large.has_value());
    EXPECT_FALSE(t->try_acquire(0).has_value());
  }
  const auto small = t->acquire(1);
  EXPECT_FALSE(t->try_acquire(1000).has_value());
}

TEST(Throttle, TellsOfAllTogether) {
  const auto a = throttle({.launches = 4}), b = throttle({.launches = 4});
  const Throttle::Load before = Throttle::total();
  const auto first = a->acquire(30), second = b->acquire(40);
  const auto third = b->acquire(5, Throttle::Kind::kUpload);
  const Throttle::Load now = Throttle::total();
  EXPECT_EQ(now.launches - before.launches, 2);
  EXPECT_EQ(now.uploads - before.uploads, 1);
  EXPECT_EQ(now.bytes - before.bytes, 75);
  EXPECT_EQ(now.peak_launches - before.peak_launches, 2);
  EXPECT_EQ(now.peak_bytes - before.peak_bytes, 75);
}

TEST(Throttle, WhatCannotBeMoreGoesAlone) {
  const auto t = throttle({.launches = 4});
  t->set_limits({.launches = 4, .bytes = -7});
  EXPECT_EQ(t->limits().bytes, 0);
  const auto all = t->acquire(INT64_MAX);
  EXPECT_EQ(t->load().bytes, INT64_MAX);
  EXPECT_EQ(Throttle::total().bytes, INT64_MAX);
  EXPECT_FALSE(t->try_acquire(INT64_MAX).has_value());
}

TEST(Throttle, WaitsUntilThereIsRoom) {
  const auto t = throttle({.launches = 1});
  std::atomic<bool> served = false;
  Tickets held;
  held.push_back(t->acquire(1));
  std::thread other([&] {
    const auto ticket = t->acquire(1);
    served = true;
  });
  until_waiting(*t, 1);
  EXPECT_FALSE(served);
  held.clear();
  other.join();
  EXPECT_TRUE(served);
}

TEST(Throttle, ServesInTheOrderOfArrival) {
  const auto t = throttle({.launches = 8, .bytes = 100});
  Tickets held;
  held.push_back(t->acquire(50));
  std::vector<int> order;
  std::mutex mutex;
  const auto launch = [&](int number, int64_t bytes) {
    return std::thread([&, number, bytes] {
      const auto ticket = t->acquire(bytes);
      std::scoped_lock lock(mutex);
      order.push_back(number);
    });
  };
  std::thread large = launch(1, 100);  // there is no room for it
  until_waiting(*t, 1);
  std::thread small = launch(2, 1);  // there would be
  until_waiting(*t, 2);
  EXPECT_FALSE(t->try_acquire(1).has_value());
  held.clear();
  large.join();
  small.join();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Throttle, LargerLimitsLetWaitingLaunchesGo) {
  const auto t = throttle({.launches = 1});
  const auto held = t->acquire(1);
  std::thread other([&] { const auto ticket = t->acquire(1); });
  until_waiting(*t, 1);
  t->set_limits({.launches = 2});
  other.join();
  EXPECT_EQ(t->load().peak_launches, 2);
}

// Eight of forty are free, though not a quarter.
TEST(Throttle, LargerLimitsLetWaitingLaunchesGoWithoutAQuarterFree) {
  const auto t = throttle({.launches = 32});
  Tickets held;
  for (int i = 0; i < 32; ++i) held.push_back(t->acquire(1));
  std::thread other([&] { const auto ticket = t->acquire(1); });
  until_waiting(*t, 1);
  t->set_limits({.launches = 40});
  other.join();
  EXPECT_EQ(t->load().peak_launches, 33);
}

// Launches are not what they lack.
TEST(Throttle, WhoWaitsForBytesGoesWhenTheyAreFree) {
  for (const auto kind : {Throttle::Kind::kLaunch, Throttle::Kind::kUpload}) {
    const auto t = throttle({.launches = 8, .bytes = 100});
    Tickets held;
    for (int i = 0; i < 7; ++i) held.push_back(t->acquire(1));
    Throttle::Ticket large = t->acquire(90, Throttle::Kind::kUpload);
    std::thread other([&] { const auto ticket = t->acquire(50, kind); });
    until_waiting(*t, 1);
    large = {};
    other.join();
    EXPECT_EQ(t->load().launches, 7);
  }
}

TEST(Throttle, KeepsItsLimitsAmongManyThreads) {
  const auto t = throttle({.launches = 3, .bytes = 10});
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 500; ++k) const auto ticket = t->acquire(1 + i % 5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(t->load().peak_launches, 3);
  EXPECT_LE(t->load().peak_bytes, 10);
  EXPECT_EQ(t->load().launches, 0);
}

TEST(Throttle, UploadsCountBytesAlone) {
  const auto t = throttle({.launches = 1, .bytes = 100});
  const auto launch = t->acquire(50);
  auto upload = t->try_acquire(50, Throttle::Kind::kUpload);
  ASSERT_TRUE(upload.has_value());
  EXPECT_EQ(t->load().launches, 1);
  EXPECT_EQ(t->load().uploads, 1);
  EXPECT_EQ(t->load().bytes, 100);
  EXPECT_FALSE(t->try_acquire(1, Throttle::Kind::kUpload).has_value());
  upload.reset();
  EXPECT_TRUE(t->try_acquire(1, Throttle::Kind::kUpload).has_value());
}

TEST(Throttle, WhoWaitsIsWokenWhenAQuarterIsDone) {
  const auto t = throttle({.launches = 8});
  Tickets held;
  for (int i = 0; i < 8; ++i) held.push_back(t->acquire(1));
  std::atomic<bool> served = false;
  std::thread other([&] {
    const auto ticket = t->acquire(1);
    served = true;
  });
  until_waiting(*t, 1);
  held.pop_back();
  EXPECT_EQ(t->load().launches, 7);  // not yet
  held.pop_back();
  EXPECT_EQ(t->load().launches, 6);
  held.pop_back();
  other.join();
  EXPECT_TRUE(served);
  EXPECT_GT(t->load().waited_ns, 0);
}

TEST(Throttle, DrainWaitsForWhatIsInFlight) {
  const auto t = throttle({.launches = 8});
  Tickets held;
  held.push_back(t->acquire(1));
  std::atomic<bool> released = false;
  std::thread other([&] {
    t->drain();
    EXPECT_TRUE(released);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  released = true;
  held.clear();
  other.join();
}

// There is no moment without a launch in flight.
TEST(Throttle, DrainDoesNotWaitForWhatComesLater) {
  const auto t = throttle({.launches = 8});
  Throttle::Ticket held = t->acquire(1);
  std::atomic<bool> drained = false;
  std::thread other([&] {
    t->drain();
    drained = true;
  });
  while (!drained) held = t->acquire(1);  // the new one first, then the old one goes
  other.join();
}

TEST(Throttle, DrainingWhereNothingIsInFlightReturnsAtOnce) { throttle({})->drain(); }

TEST(Throttle, ADevicesOwnWorkIsNotHeldBack) {
  const auto t = throttle({.launches = 1});
  const auto held = t->acquire(1);
  {
    const Throttle::Exempt own_work;
    const auto nested = t->acquire(1);
    EXPECT_TRUE(t->try_acquire(1).has_value());
  }
  EXPECT_EQ(t->load().peak_launches, 1);
  EXPECT_FALSE(t->try_acquire(1).has_value());
}

TEST(Throttle, PeaksBeginAnew) {
  const auto t = throttle({.launches = 8});
  { const auto a = t->acquire(30), b = t->acquire(40); }
  const auto held = t->acquire(5);
  t->reset_peaks();
  EXPECT_EQ(t->load().peak_launches, 1);
  EXPECT_EQ(t->load().peak_bytes, 5);
}

}  // namespace
}  // namespace heddle::runtime
