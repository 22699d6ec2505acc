// compile(fn) from several threads: who traces, and that nobody waits for ever.
#include <barrier>
#include <chrono>
#include <functional>
#include <latch>
#include <semaphore>
#include <thread>

#include "heddle/base/support_test.h"
#include "heddle/compile/compile.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

using std::chrono::seconds;

TEST(CompileThreads, EightTraceOnceAndTheOthersWait) {
  std::atomic<int> traced = 0;
  const auto f = compile([&](const Tensor& x) {
    ++traced;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return x + 1;
  });
  std::barrier ready(8);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        ready.arrive_and_wait();
        right += f(full({1 + t % 2}, t)).to_vector<float>()[0] == t + 1;
      });
    }
  }
  EXPECT_EQ(traced, 2);
  EXPECT_EQ(right, 8);
  EXPECT_EQ(f.stats().graphs, 2);
}

// One thread holds the user's lock and calls f for the first time; the other is in g, which takes
// the lock while it is traced.
TEST(CompileThreads, AUsersLockInATracedFunctionIsNoDeadlock) {
  std::binary_semaphore users(1);  // a lock: the thread sanitizer knows no timed mutex
  std::latch in_g(1), has_lock(1);
  std::atomic<bool> was_locked = false;
  const auto f = compile([](const Tensor& x) { return x * 2; });
  const auto g = compile([&](const Tensor& x) {
    in_g.count_down();
    has_lock.wait();
    was_locked = users.try_acquire_for(seconds(5));
    if (was_locked) users.release();
    return x * 3;
  });
  std::jthread other([&] { EXPECT_EQ(g(scalar(2.0f)).item<float>(), 6); });
  in_g.wait();
  users.acquire();
  has_lock.count_down();
  EXPECT_EQ(f(scalar(2.0f)).item<float>(), 4);
  users.release();
  other.join();
  EXPECT_TRUE(was_locked) << "f waited for the trace of g";
}

// Calls that go around are told on both threads.
TEST(CompileThreads, FunctionsThatCallEachOtherOnTwoThreadsAreAnError) {
  std::latch both(2);
  std::function<Tensor(Tensor)> to_f, to_g;
  const auto f = compile(
      [&](const Tensor& x) {
        if (!both.try_wait()) both.arrive_and_wait();
        return to_g(x);
      },
      {.name = "f"});
  const auto g = compile(
      [&](const Tensor& x) {
        if (!both.try_wait()) both.arrive_and_wait();
        return to_f(x);
      },
      {.name = "g"});
  to_f = [&](const Tensor& x) { return f(x); };
  to_g = [&](const Tensor& x) { return g(x); };
  std::string of_f, of_g;
  const auto start = std::chrono::steady_clock::now();
  {
    std::jthread one([&] { of_f = error_of([&] { (void)f(ones({2})); }); });
    std::jthread two([&] { of_g = error_of([&] { (void)g(ones({2})); }); });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5)) << "the ring of waits is seen";
  const auto calls_itself =
      testing::AnyOf(StartsWith("f: calls itself"), StartsWith("g: calls itself"));
  EXPECT_THAT(of_f, calls_itself);
  EXPECT_THAT(of_g, calls_itself);
}

TEST(CompileThreads, MaxGraphsHoldsForThreadsThatTraceAtOnce) {
  std::barrier both(2);
  const auto f = compile(
      [&](const Tensor& x) {
        both.arrive_and_wait();
        return x + 1;
      },
      {.max_graphs = 1});
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 1; t <= 2; ++t) {
      threads.emplace_back([&, t] {
        const std::string text = error_of([&] { (void)f(ones({t})); });
        refused += text.find("max_graphs is 1") != std::string::npos;
      });
    }
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(f.stats().graphs, 1);
}

// What fails is not kept, and who waited for it tries by itself.
TEST(CompileThreads, WhoWaitedForAnErrorTracesItself) {
  std::atomic<int> traced = 0;
  const auto f = compile([&](const Tensor& x) {
    if (++traced == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return x + ones({7});
    }
    return x + 1;
  });
  std::atomic<int> errors = 0, results = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        const std::string text = error_of([&] { results += f(ones({2})).size() == 2; });
        errors += text != "no error";
      });
    }
  }
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(results, 3);
  EXPECT_EQ(traced, 2);
}

}  // namespace
}  // namespace heddle
