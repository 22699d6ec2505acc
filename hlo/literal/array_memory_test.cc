#include "heddle/hlo/literal/array_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "heddle/hlo/literal/literal.h"

namespace heddle {
namespace {

constexpr size_t kLarge = size_t{8} << 20;

// A cache of its own size, empty before and after.
class CacheOf {
 public:
  explicit CacheOf(int64_t bytes) : before_(memory_cache_capacity()) {
    empty_cache();
    set_memory_cache_capacity(bytes);
  }
  ~CacheOf() {
    empty_cache();
    set_memory_cache_capacity(before_);
  }
  CacheOf(const CacheOf&) = delete;
  CacheOf& operator=(const CacheOf&) = delete;

 private:
  int64_t before_;
};

TEST(ArrayMemory, IsWritableOfAnySize) {
  for (size_t bytes : {size_t{1}, size_t{4096}, size_t{1} << 15, (size_t{1} << 15) + 1,
                       (size_t{1} << 20) - 1, kLarge, kLarge + 3}) {
    void* block = allocate_block(bytes);
    std::memset(block, 7, bytes);
    free_block(block, bytes);
  }
  free_block(nullptr, 0);
}

TEST(ArrayMemory, AFreedBlockServesTheNextArrayOfItsSize) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "blocks do not wait";
#endif
  void* first = allocate_block(kLarge);
  free_block(first, kLarge);
  void* other = allocate_block(kLarge + 4096);
  EXPECT_NE(other, first);
  void* second = allocate_block(kLarge);
  EXPECT_EQ(second, first);
  void* third = allocate_block(kLarge);
  EXPECT_NE(third, first) << "it is in use";
  free_block(second, kLarge);
  free_block(third, kLarge);
  free_block(other, kLarge + 4096);
}

TEST(ArrayMemory, GivesBackWhatIsMoreThanItsShare) {
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(allocate_block(kLarge));  // none is touched
  for (void* block : blocks) free_block(block, kLarge);
  void* block = allocate_block(kLarge);
  std::memset(block, 1, kLarge);
  free_block(block, kLarge);
}

TEST(ArrayMemory, KeepsNoMoreThanItsCapacityAndTheOldestGoFirst) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "blocks do not wait";
#endif
  const CacheOf cache(2 * static_cast<int64_t>(kLarge));
  void* blocks[3];
  for (void*& block : blocks) block = allocate_block(kLarge);
  for (void* block : blocks) free_block(block, kLarge);
  EXPECT_EQ(array_memory().cached_bytes, 2 * static_cast<int64_t>(kLarge));
  void *newest = allocate_block(kLarge), *older = allocate_block(kLarge);
  EXPECT_EQ(newest, blocks[2]);
  EXPECT_EQ(older, blocks[1]);
  free_block(newest, kLarge);
  free_block(older, kLarge);
  set_memory_cache_capacity(static_cast<int64_t>(kLarge));
  EXPECT_EQ(array_memory().cached_bytes, static_cast<int64_t>(kLarge));
  free_block(allocate_block(2 * kLarge), 2 * kLarge);  // more than all that may wait
  EXPECT_EQ(array_memory().cached_bytes, static_cast<int64_t>(kLarge));
  set_memory_cache_capacity(0);
  free_block(allocate_block(kLarge), kLarge);
  EXPECT_EQ(array_memory().cached_bytes, 0);
}

TEST(ArrayMemory, CountsWhatIsInUseAndWhatWaits) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "blocks do not wait";
#endif
  const CacheOf cache(int64_t{64} << 20);
  const ArrayMemory before = array_memory();
  void *small = allocate_block(100), *large = allocate_block(kLarge);
  ArrayMemory now = array_memory();
  EXPECT_EQ(now.live_bytes - before.live_bytes, static_cast<int64_t>(kLarge) + 100);
  EXPECT_GE(now.peak_bytes, now.live_bytes);
  EXPECT_EQ(now.allocations - before.allocations, 2);
  EXPECT_EQ(now.cache_hits, before.cache_hits);
  free_block(small, 100);
  free_block(large, kLarge);
  now = array_memory();
  EXPECT_EQ(now.live_bytes, before.live_bytes);
  EXPECT_EQ(now.cached_bytes, static_cast<int64_t>(kLarge));
  free_block(allocate_block(kLarge - 4096), kLarge - 4096);  // of about this size
  EXPECT_EQ(array_memory().cache_hits - before.cache_hits, 1);
  EXPECT_EQ(empty_cache(), static_cast<int64_t>(kLarge));
  EXPECT_EQ(empty_cache(), 0);
}

TEST(ArrayMemory, RoundsUpByAnEighthAtMost) {
  const CacheOf cache(0);
  for (size_t bytes = 30'000; bytes < size_t{1} << 30; bytes += bytes / 7 + 1) {
    const int64_t before = array_memory().live_bytes;
    void* block = allocate_block(bytes);  // is not touched
    const int64_t taken = array_memory().live_bytes - before;
    free_block(block, bytes);
    EXPECT_GE(taken, static_cast<int64_t>(bytes));
    EXPECT_LE(taken, static_cast<int64_t>(bytes + bytes / 8 + 1));
  }
}

TEST(ArrayMemory, AThreadFindsWhatAnotherOneFreed) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "blocks do not wait";
#endif
  const CacheOf cache(int64_t{64} << 20);
  void* block = allocate_block(kLarge);
  std::thread([&] { free_block(block, kLarge); }).join();
  void* found = allocate_block(kLarge);
  EXPECT_EQ(found, block);
  free_block(found, kLarge);
}

// Each block has a pattern of its own, which nobody else may write over. Little room, so that
// blocks are freed and looked for in all shards.
TEST(ArrayMemory, NoTwoOwnersShareABlock) {
  const CacheOf cache(int64_t{4} << 20);
  const auto work = [](unsigned seed) {
    std::mt19937 random(seed);
    struct Owned {
      unsigned char* data = nullptr;
      size_t bytes = 0;
      unsigned char mark = 0;
    };
    std::vector<Owned> all(8);
    for (int i = 0; i < 3000; ++i) {
      Owned& one = all[random() % all.size()];
      for (size_t at = 0; at < one.bytes; at += 4093) ASSERT_EQ(one.data[at], one.mark);
      free_block(one.data, one.bytes);
      one.bytes = 20'000 + random() % 400'000;
      one.data = static_cast<unsigned char*>(allocate_block(one.bytes));
      one.mark = static_cast<unsigned char>(random());
      std::memset(one.data, one.mark, one.bytes);
    }
    for (const Owned& one : all) free_block(one.data, one.bytes);
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 12; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(array_memory().cached_bytes, int64_t{4} << 20);
}

TEST(ArrayMemory, OfALiteralWaitsWhenItsLastCopyGoes) {
  const CacheOf cache(int64_t{64} << 20);
  Literal first = Literal::uninitialised(Shape(DType::kF32, {100'000}));
  Literal copy = first;
  const std::byte* bytes = first.bytes();
  first = Literal();
  EXPECT_EQ(array_memory().cached_bytes, 0);
  const Literal other = Literal::uninitialised(Shape(DType::kF32, {100'000}));
  EXPECT_NE(other.bytes(), bytes);
}

TEST(ArrayMemory, MoreThanThereIsThrows) {
  EXPECT_THROW(free_block(allocate_block(size_t{1} << 62), size_t{1} << 62), std::bad_alloc);
}

}  // namespace
}  // namespace heddle
