// Memory of arrays in eager programs: what a loop needs does not grow, and what another one still
// reads is not used again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/heddle.h"
#include "heddle/runtime/cache/program_cache.h"
#include "heddle/runtime/dlpack.h"
#include "heddle/runtime/registry.h"

namespace heddle {
namespace {

// Of this process, or 0 where the system does not say.
int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4096;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;  // they keep what was freed
#else
constexpr bool kIsSanitized = false;
#endif

TEST(ArrayMemory, OfALoopOfAMillionStepsStaysAsItIs) {
  const Tensor a = full({4}, 0.5f), b = full({4}, 1.0f);
  const Tensor wide_a = full({1000}, 0.5f), wide_b = full({1000}, 1.0f);
  const Tensor large = full({20'000}, 2.0f);
  Tensor x = b, wide = wide_b, sum = large;
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      x = x * a + b;
      if (i % 10 == 0) wide = wide * wide_a + wide_b;
      if (i % 1000 == 0) sum = sum * 0.5f + large;
    }
  };
  steps(2000);
  const ArrayMemory before = array_memory();
  const int64_t resident = resident_bytes();
  steps(1'000'000);
  const ArrayMemory after = array_memory();
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.peak_bytes, before.peak_bytes);
  EXPECT_EQ(after.cached_bytes, before.cached_bytes);
  if (!kIsSanitized) {
    EXPECT_LT(resident_bytes() - resident, int64_t{2} << 20);
  }
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(4, 2.0f));
  EXPECT_EQ(wide.to_vector<float>(), std::vector<float>(1000, 2.0f));
  EXPECT_EQ(sum.to_vector<float>(), std::vector<float>(20'000, 4.0f));
}

// Each is a program of its own, which the caches drop in turn. The arrays are empty.
TEST(ProgramMemory, OfAHundredThousandShapesStaysInsideOfItsCaps) {
  const runtime::DefaultDevice device(**runtime::find_device("interpreter"));
  const auto shapes = [](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) (void)sum(full({0, i}, 2.0f), 1);
  };
  const int64_t few = 3 * static_cast<int64_t>(runtime::program_cache().capacity());
  shapes(0, few);
  const int64_t resident = resident_bytes();
  const Counters before = counters();
  const int64_t many = kIsSanitized ? 10'000 : 100'000;
  shapes(few, few + many);
  EXPECT_GE((counters() - before).compiles, many);
  EXPECT_LE(runtime::program_cache().size(), runtime::program_cache().capacity());
  if (!kIsSanitized) {
    EXPECT_LT(resident_bytes() - resident, int64_t{2} << 20);
  }
}

TEST(ArrayMemory, ThatAViewReadsIsNotUsedAgain) {
  constexpr int64_t kSize = 30'000;
  Tensor x = full({kSize}, 3.0f) + 0.0f;
  const Literal view = host_view(x);
  dlpack::ManagedTensor* lent = to_dlpack(x);
  x = Tensor();
  std::vector<Tensor> others;
  for (int i = 0; i < 8; ++i) others.push_back(full({kSize}, 7.0f) * 1.0f);
  const auto* seen = reinterpret_cast<const float*>(view.bytes());
  const auto* exported = static_cast<const float*>(lent->tensor.data);
  for (int64_t i = 0; i < kSize; ++i) {
    ASSERT_EQ(seen[i], 3.0f) << i;
    ASSERT_EQ(exported[i], 3.0f) << i;
  }
  lent->deleter(lent);
}

TEST(ArrayMemory, IsGivenBackOnDemand) {
  if (kIsSanitized) GTEST_SKIP() << "nothing waits";
  empty_cache();
  { const Tensor x = full({1 << 20}, 1.0f) + 1.0f; }
  const int64_t resident = resident_bytes();
  const int64_t waits = array_memory().cached_bytes;
  EXPECT_GE(waits, int64_t{4} << 20);
  EXPECT_EQ(empty_cache(), waits);
  EXPECT_EQ(array_memory().cached_bytes, 0);
  EXPECT_LT(resident_bytes(), resident - (int64_t{2} << 20));
}

// ----- results in the memory of an operand that died

int64_t in_place(const std::function<void()>& work) {
  const int64_t before = array_memory().in_place;
  work();
  return array_memory().in_place - before;
}

using Floats = std::vector<float>;
Tensor floats(int64_t size, float value) { return full({size}, value) + 0.0f; }

// Few bytes lie in the buffer, more in a block.
class InPlace : public ::testing::TestWithParam<int64_t> {
 protected:
  Floats all(float value) const { return Floats(static_cast<size_t>(GetParam()), value); }
  Tensor of(float value) const { return floats(GetParam(), value); }
};
INSTANTIATE_TEST_SUITE_P(Sizes, InPlace, ::testing::Values(1, 4, 16, 17, 1000, 16'000));

TEST_P(InPlace, ATemporaryIsWrittenOver) {
  const Tensor a = of(2), b = of(3), c = of(5);
  EXPECT_EQ(in_place([&] { EXPECT_EQ((a * b + c).to_vector<float>(), all(11)); }), 1);
  EXPECT_EQ(in_place([&] { EXPECT_EQ((c - a * b).to_vector<float>(), all(-1)); }), 1);
  EXPECT_EQ(in_place([&] { EXPECT_EQ((-(a * b)).to_vector<float>(), all(-6)); }), 1);
  EXPECT_EQ(in_place([&] { EXPECT_EQ((a * b * 2.0f + 1.0f).to_vector<float>(), all(13)); }), 2);
  EXPECT_EQ(in_place([&] { EXPECT_EQ((a * b + b * c).to_vector<float>(), all(21)); }), 1);
  EXPECT_EQ(in_place([&] {
              EXPECT_EQ(sqrt(a * a + b * b - c + a).to_vector<float>()[0], std::sqrt(10.0f));
            }),
            4);
  EXPECT_EQ(a.to_vector<float>(), all(2));
  EXPECT_EQ(b.to_vector<float>(), all(3));
  EXPECT_EQ(c.to_vector<float>(), all(5));
}

TEST_P(InPlace, AVariableThatIsAddedToKeepsItsMemoryAndCopiesTheirValue) {
  Tensor x = of(1);
  const Tensor y = of(2);
  const uint64_t id = x.id();
  EXPECT_EQ(in_place([&] { x += y; }), 1);
  EXPECT_NE(x.id(), id) << "it is another value";
  const Tensor copy = x;
  EXPECT_EQ(in_place([&] { x += y; }), 0);
  EXPECT_EQ(in_place([&] { x *= x; }), 1);
  EXPECT_EQ(in_place([&] { x -= 1.0f; }), 1);
  EXPECT_EQ(x.to_vector<float>(), all(24));
  EXPECT_EQ(copy.to_vector<float>(), all(3));
  EXPECT_EQ(y.to_vector<float>(), all(2));
}

TEST_P(InPlace, WhatIsNotGivenAwayStays) {
  Tensor x = of(1);
  const Tensor y = of(2);
  EXPECT_EQ(in_place([&] {
              const Tensor sum = x + x, other = x + y, third = add(x, y), fourth = maximum(x, y);
              EXPECT_EQ(sum.to_vector<float>(), all(2));
              EXPECT_EQ(third.to_vector<float>(), all(3));
              EXPECT_EQ(square(x + 0.0f).to_vector<float>(), all(1));
              EXPECT_EQ((x + 1.0f < y).to_vector<bool>()[0], false);
            }),
            0);
  EXPECT_EQ(x.to_vector<float>(), all(1));
}

TEST_P(InPlace, AViewAnExportAndADownloadKeepTheirValue) {
  const Tensor y = of(2);
  Tensor viewed = of(1), lent = of(1), copied = of(1), read = of(1);
  const Literal view = host_view(viewed);
  dlpack::ManagedTensor* out = to_dlpack(lent);
  HostCopy copy = start_download(copied);
  EXPECT_EQ(in_place([&] {
              viewed += y;
              lent += y;
            }),
            0);
  copied += y;
  EXPECT_EQ(reinterpret_cast<const float*>(view.bytes())[0], 1.0f);
  EXPECT_EQ(static_cast<const float*>(out->tensor.data)[0], 1.0f);
  EXPECT_EQ(copy.await().to_double(0), 1.0);
  out->deleter(out);
  EXPECT_EQ(viewed.to_vector<float>(), all(3));
  EXPECT_EQ(lent.to_vector<float>(), all(3));
  EXPECT_EQ(copied.to_vector<float>(), all(3));
  const Floats before = read.to_vector<float>();
  read += y;
  EXPECT_EQ(before, all(1));
  EXPECT_EQ(read.to_vector<float>(), all(3));
}

TEST(InPlaceOf, LentMemoryIsNotWrittenTo) {
  alignas(64) float mine[32];
  std::ranges::fill(mine, 1.0f);
  Tensor x = lend(std::span<const float>(mine), {32}, nullptr);
  EXPECT_EQ(in_place([&] { x += x; }), 0);
  EXPECT_EQ(mine[0], 1.0f);
  EXPECT_EQ(x.to_vector<float>(), Floats(32, 2.0f));
}

TEST(InPlaceOf, WhatATraceOrAPendingLoopCapturedStays) {
  Tensor x = floats(100, 1);
  const auto twice = trace([&](const Tensor& y) { return x * y; }, x);
  const Tensor y = floats(100, 3);
  EXPECT_EQ(in_place([&] { x += y; }), 0);
  EXPECT_EQ(twice(y).to_vector<float>(), Floats(100, 3));
}

TEST(InPlaceOf, ATensorThatWasMovedIntoAnOperationIsEmpty) {
  Tensor x = floats(4, 1), wide = floats(100'000, 1);
  EXPECT_EQ((std::move(x) + 1.0f).to_vector<float>(), Floats(4, 2));
  EXPECT_FALSE(x.is_valid());
  EXPECT_EQ((std::move(wide) + 1.0f).size(), 100'000);
  EXPECT_FALSE(wide.is_valid()) << "also where a program computes it";
  EXPECT_THROW((void)(x + 1.0f), Error);
}

TEST(InPlaceOf, AnUpdateByTheArrayItselfIsNotInPlace) {
  Tensor x = floats(1000, 3);
  const Tensor same = x;
  x = dynamic_update_slice(std::move(x), x, {0});
  EXPECT_EQ(x.to_vector<float>(), same.to_vector<float>());
  Tensor alone = floats(1000, 3);
  alone = dynamic_update_slice(std::move(alone), alone, {0});
  EXPECT_EQ(alone.to_vector<float>(), same.to_vector<float>());
}

TEST(InPlaceOf, AMistakeLeavesTheVariable) {
  Tensor x = floats(4, 1);
  EXPECT_THROW(x += floats(3, 1), Error);
  EXPECT_EQ(x.to_vector<float>(), Floats(4, 1));
  EXPECT_THROW(x += scalar<int>(1), Error);
  EXPECT_EQ(x.to_vector<float>(), Floats(4, 1));
}

TEST(InPlaceOf, AScalarBesideAnArrayIsNotWrittenOver) {
  const Tensor x = floats(8, 2);
  EXPECT_EQ(in_place([&] {
              EXPECT_EQ((x + scalar(1.0f) * scalar(3.0f)).to_vector<float>(), Floats(8, 5));
            }),
            0);
  EXPECT_EQ(
      in_place([&] { EXPECT_EQ((scalar(3.0f) + x * 2.0f).to_vector<float>(), Floats(8, 7)); }), 1);
}

// A row is written into the memory of an array that is given away.
TEST(InPlaceOf, AnUpdateOfAnArrayThatIsGivenAwayCopiesOnlyTheRow) {
  Tensor x = zeros({1000, 4}) + 0.0f;
  const Tensor row = ones({1, 4}), i = scalar(7);
  const auto update = [&] { x = dynamic_update_slice(std::move(x), row, {i, 0}); };
  update();
  EXPECT_EQ(in_place(update), 1);
  EXPECT_EQ(sum(x).item<float>(), 4.0f);
  const Tensor copy = x;
  EXPECT_EQ(in_place([&] { x = dynamic_update_slice(std::move(x), row * 2.0f, {0, 0}); }), 0);
  EXPECT_EQ(sum(x).item<float>(), 12.0f);
  EXPECT_EQ(sum(copy).item<float>(), 4.0f) << "two tensors shared it";
  EXPECT_EQ(in_place([&] { EXPECT_EQ(dynamic_update_slice(x, row, {1, 0}).size(), 4000); }), 0);
  EXPECT_EQ(sum(x).item<float>(), 12.0f);
}

TEST(InPlaceOf, AnUpdateKeepsWhatViewsAndExportsRead) {
  Tensor viewed = zeros({1000}) + 0.0f, lent = zeros({1000}) + 0.0f;
  const Literal view = host_view(viewed);
  dlpack::ManagedTensor* out = to_dlpack(lent);
  EXPECT_EQ(in_place([&] {
              viewed = dynamic_update_slice(std::move(viewed), ones({1}), {3});
              lent = dynamic_update_slice(std::move(lent), ones({1}), {3});
            }),
            0);
  EXPECT_EQ(view.to_double(3), 0.0);
  EXPECT_EQ(static_cast<const float*>(out->tensor.data)[3], 0.0f);
  out->deleter(out);
  EXPECT_EQ(viewed.to_vector<float>()[3], 1.0f);
  EXPECT_EQ(lent.to_vector<float>()[3], 1.0f);
}

TEST(InPlaceOf, AnUpdateThatIsAMistakeLeavesTheVariable) {
  Tensor x = zeros({1000}) + 0.0f;
  EXPECT_THROW(x = dynamic_update_slice(std::move(x), ones({2000}), {3}), Error);
  EXPECT_THROW(x = dynamic_update_slice(std::move(x), ones({1}, s32), {3}), Error);
  EXPECT_EQ(x.size(), 1000);
}

// The last owner writes, whichever thread it is.
TEST(InPlaceOf, ThreadsSeeTheirOwnValues) {
  for (const int64_t size : {4, 1000}) {
    const Tensor one = floats(size, 1);
    Tensor shared = floats(size, 1);
    const auto work = [&](Tensor x, float begin) {
      for (int i = 0; i < 2000; ++i) {
        Tensor mine = x;
        mine += one;
        x = std::move(mine) - one;
        ASSERT_EQ(x.to_vector<float>()[0], begin);
        x *= one;
      }
    };
    std::thread other(work, shared, 1.0f);
    work(shared, 1.0f);
    other.join();
    EXPECT_EQ(shared.to_vector<float>(), Floats(static_cast<size_t>(size), 1));
  }
}

TEST(InPlaceOf, DeviceBytesStayRight) {
  const Device& device = default_device();
  const Tensor y = floats(1000, 1);
  const int64_t before = device.live_bytes();
  {
    Tensor x = y * 2.0f;
    for (int i = 0; i < 100; ++i) x += y;
    EXPECT_EQ(device.live_bytes() - before, 4000);
  }
  EXPECT_EQ(device.live_bytes(), before);
}

// A logger or a checkpoint that is a global: what it computes at last is no crash.
struct AtLast {
  Tensor t;
  ~AtLast() {
    const auto step = [](Tensor c, Tensor x) { return std::pair(c + x, c); };
    const Tensor all = scan(step, sum(exp(t)), arange(5.0f)).first;
    std::fprintf(stderr, "at last %.1f\n", static_cast<double>(all.item<float>()));
  }
};

TEST(Lifetimes, GlobalsMayComputeWhenTheyAreDestroyed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto end = [] {
    static AtLast last;  // before what Heddle makes for the first computation
    last.t = tanh(zeros({3}));
    std::exit(0);
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(0), "at last 13.0");
}

}  // namespace
}  // namespace heddle
