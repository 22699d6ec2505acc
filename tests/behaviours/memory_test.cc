// Memory of arrays in eager programs: what a loop needs does not grow, and what another one still
// reads is not used again.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "heddle/heddle.h"
#include "heddle/runtime/dlpack.h"

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

}  // namespace
}  // namespace heddle
