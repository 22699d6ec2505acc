#include "heddle/base/system/pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace heddle::base {
namespace {

TEST(Pool, GivesEachOwnerABlockOfItsOwn) {
  for (const size_t bytes : {size_t{1}, size_t{32}, size_t{33}, size_t{512}, size_t{513}}) {
    std::set<void*> live;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 100; ++i) {
        void* block = allocate_pooled(bytes);
        static_cast<char*>(block)[bytes - 1] = 'x';
        EXPECT_TRUE(live.insert(block).second);
      }
      for (void* block : live) free_pooled(block, bytes);
      live.clear();
    }
  }
}

TEST(Pool, KeepsAFewFreedBlocks) {
#if defined(HEDDLE_NO_POOLS)
  GTEST_SKIP() << "a sanitizer looks for uses of freed blocks";
#endif
  void* first = allocate_pooled(100);
  free_pooled(first, 100);
  void* again = allocate_pooled(100);
  EXPECT_EQ(again, first);
  free_pooled(again, 100);
}

TEST(Pool, TakesBlocksOfOtherThreadsAndOfThoseThatEnd) {
  for (int round = 0; round < 20; ++round) {
    std::shared_ptr<int> made;
    std::thread([&] { made = make_pooled<int>(round); }).join();
    EXPECT_EQ(*made, round);
    std::thread([last = std::move(made)]() mutable { last.reset(); }).join();
  }
}

}  // namespace
}  // namespace heddle::base
