#include "heddle/hlo/internal/array_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <vector>

namespace heddle {
namespace {

constexpr size_t kLarge = size_t{8} << 20;

TEST(ArrayMemory, IsWritableOfAnySize) {
  for (size_t bytes : {size_t{1}, size_t{4096}, kLarge, kLarge + 3}) {
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

TEST(ArrayMemory, MoreThanThereIsThrows) {
  EXPECT_THROW(free_block(allocate_block(size_t{1} << 62), size_t{1} << 62), std::bad_alloc);
}

}  // namespace
}  // namespace heddle
