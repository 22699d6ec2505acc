#include "heddle/hlo/internal/array_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace heddle {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLarge = 2 * kHugePage;
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kMostWaiting = 0;  // so that a use after free is found
#else
constexpr size_t kMostWaiting = size_t{256} << 20;
#endif

struct Block {
  void* data = nullptr;
  size_t bytes = 0;
};

void free_all(const std::vector<Block>& blocks) {
  for (const Block& block : blocks) std::free(block.data);
}

// Freed blocks that wait for a next use.
class WaitingBlocks {
 public:
  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (size_t i = blocks_.size(); i-- > 0;) {  // the one that may still be in a cache
      if (blocks_[i].bytes != bytes) continue;
      void* data = blocks_[i].data;
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
      total_ -= bytes;
      return data;
    }
    return nullptr;
  }

  // The oldest ones make room.
  void give(Block block) {
    std::vector<Block> old;
    {
      const std::lock_guard lock(mutex_);
      blocks_.push_back(block);
      total_ += block.bytes;
      size_t count = 0;
      for (; total_ > kMostWaiting; ++count) total_ -= blocks_[count].bytes;
      const auto end = blocks_.begin() + static_cast<std::ptrdiff_t>(count);
      old.assign(blocks_.begin(), end);
      blocks_.erase(blocks_.begin(), end);
    }
    free_all(old);
  }

  void clear() {
    std::vector<Block> old;
    {
      const std::lock_guard lock(mutex_);
      old.swap(blocks_);
      total_ = 0;
    }
    free_all(old);
  }

 private:
  std::mutex mutex_;
  std::vector<Block> blocks_;  // the oldest first
  size_t total_ = 0;           // bytes
};

// Never destroyed: arrays may outlive it.
WaitingBlocks& waiting() {
  static WaitingBlocks& instance = *new WaitingBlocks;
  return instance;
}

void use_huge_pages([[maybe_unused]] void* block, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
  const auto address = reinterpret_cast<uintptr_t>(block);
  const uintptr_t first = (address + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (address + bytes) / kHugePage * kHugePage;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);  // may be refused
#endif
}

void* allocate_large(size_t bytes) {
  if (void* block = waiting().take(bytes)) return block;
  void* block = std::malloc(bytes);
  if (block == nullptr) {
    waiting().clear();
    block = std::malloc(bytes);
  }
  if (block != nullptr) use_huge_pages(block, bytes);
  return block;
}

}  // namespace

void* allocate_block(size_t bytes) {
  void* block = bytes < kLarge ? std::malloc(bytes) : allocate_large(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void free_block(void* block, size_t bytes) noexcept {
  if (block != nullptr && bytes >= kLarge && bytes <= kMostWaiting) {
    try {
      return waiting().give({block, bytes});
    } catch (const std::bad_alloc&) {  // not even for the list
    }
  }
  std::free(block);
}

}  // namespace heddle
