// What the combine cache promises: hits do nothing, what differs misses, collisions and threads
// give right results.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "heddle/heddle.h"
#include "heddle/scan/combine_cache.h"
#include "heddle/testing.h"

namespace heddle {
namespace {

constexpr auto kStep = [](Tensor c, Tensor x) {
  Tensor next = c + x;
  return std::pair(next, next);
};

TEST(CombineCache, AnotherDtypeLengthOrOptionIsTracedOrCompiledAgain) {
  Tensor zero = scalar<float>(0), xs = ones({4});
  scan(kStep, zero, xs);
  EXPECT_EQ(effects_of([&] { scan(kStep, scalar<double>(0), ones({4}, f64)); }).traces, 1);
  EXPECT_GE(effects_of([&] { scan(kStep, zero, ones({5})); }).compiles, 1);
  EXPECT_EQ(effects_of([&] { scan(kStep, zero, xs, {.reverse = true}); }).compiles, 1);
  EXPECT_EQ(effects_of([&] { scan(kStep, zero, xs, {.unroll = 2}); }).compiles, 1);
}

TEST(CombineCache, AnotherCapturedShapeIsAnotherComputation) {
  Tensor xs = ones({3});
  auto run = [&](const Tensor& w) {
    return scan([&](Tensor c, Tensor x) { return std::pair(c + x * sum(w), None{}); },
                scalar<float>(0), xs)
        .first;
  };
  Tensor small = ones({2}), large = ones({5});
  run(small);
  EXPECT_EQ(effects_of([&] { run(small); }).compiles, 0);
  EXPECT_EQ(effects_of([&] { EXPECT_EQ(run(large).item<float>(), 15); }).compiles, 1);
}

TEST(CombineCache, AnotherValueOfTheSameCapturedShapeIsNeverStale) {
  Tensor xs = ones({3});
  auto run = [&](float w) {
    Tensor weight = scalar<float>(w);
    return scan([&](Tensor c, Tensor x) { return std::pair(c + x * weight, None{}); },
                scalar<float>(0), xs)
        .first.item<float>();
  };
  EXPECT_EQ(run(2), 6);
  EXPECT_EQ(run(5), 15);
}

TEST(CombineCache, OneTensorAsTwoLeavesDoesNotFixThemTogether) {
  auto step = [](std::pair<Tensor, Tensor> c, Tensor x) {
    return std::pair(std::pair(c.first + x, c.second * 2), None{});
  };
  Tensor one = scalar<float>(1), xs = ones({2});
  scan(step, std::pair(one, one), xs);
  auto out = scan(step, std::pair(one, scalar<float>(10)), xs).first;
  EXPECT_EQ(out.first.item<float>(), 3);
  EXPECT_EQ(out.second.item<float>(), 40);
}

TEST(CombineCache, NamedFunctionIsTracedOnceAndKeepsItsCaptures) {
  Tensor w = scalar<float>(3);
  Function step("step", [w](Tensor c, Tensor x) { return std::pair(c + w * x, None{}); });
  Tensor zero = scalar<float>(0), xs = ones({4});
  scan(step, zero, xs);
  Counters done = effects_of([&] { EXPECT_EQ(scan(step, zero, xs).first.wait().dtype(), f32); });
  EXPECT_EQ(done.traces + done.lowerings + done.compiles + done.uploads + done.downloads, 0);
  EXPECT_EQ(scan(step, zero, xs).first.item<float>(), 12);
}

TEST(CombineCache, ForcedCollisionGivesTheRightComputation) {
  clear_combine_cache();
  const Hash128 same{1, 1};
  scan_internal::force_combine_hash_for_testing(&same);
  float bias = 0;
  Tensor xs = ones({3});
  auto plus = [&](Tensor c, Tensor x) { return std::pair(c + x + bias, None{}); };
  auto minus = [&](Tensor c, Tensor x) { return std::pair(c - x - bias, None{}); };
  EXPECT_EQ(scan(plus, scalar<float>(0), xs).first.item<float>(), 3);
  EXPECT_EQ(scan(minus, scalar<float>(0), xs).first.item<float>(), -3);
  EXPECT_EQ(scan(plus, scalar<float>(1), xs).first.item<float>(), 4);
  scan_internal::force_combine_hash_for_testing(nullptr);
}

TEST(CombineCache, IsBounded) {
  const size_t capacity = combine_cache_capacity();
  set_combine_cache_capacity(4);
  for (int i = 0; i < 20; ++i) {
    scan([i](Tensor c, Tensor x) { return std::pair(c + x + 1000 + i, None{}); }, scalar<float>(0),
         ones({2}));
  }
  EXPECT_LE(combine_cache_size().second, 4u);
  set_combine_cache_capacity(capacity);
}

TEST(CombineCache, ThreadsTraceAndScanAtOnce) {
  std::array<float, 4> results{};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&results, t] {
      for (int i = 0; i < 50; ++i) {
        Tensor w = scalar<float>(static_cast<float>(t));
        auto step = [&](Tensor c, Tensor x) { return std::pair(c + x * w, None{}); };
        results[t] = scan(step, scalar<float>(0), ones({4})).first.item<float>() +
                     scan(kStep, scalar<float>(0), ones({3})).first.item<float>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t) EXPECT_EQ(results[t], 4 * static_cast<float>(t) + 3);
}

}  // namespace
}  // namespace heddle
