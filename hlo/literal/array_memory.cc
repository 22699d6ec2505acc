// Blocks wait in shards, each with a lock of its own: a thread frees into its own shard, and looks
// into the others where that has no block. A block that waits is a link of two lists in its own
// first bytes, that of its size and that of all of its shard by age, so that both ends cost
// nothing and no list allocates.
#include "heddle/hlo/literal/array_memory.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "heddle/base/settings.h"

namespace heddle {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1  // as with g++
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepsBlocks = false;  // so that a use after free is found
#else
constexpr bool kKeepsBlocks = true;
#endif

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLarge = 2 * kHugePage;

// ----- sizes: eight steps from a power of two to the next

constexpr int kFirstPower = 15;  // blocks of more than 2^15 bytes wait
constexpr int kPowers = 32;
constexpr size_t kSteps = 8;
constexpr size_t kSizes = kPowers * kSteps;

constexpr bool may_wait(size_t bytes) {
  return kKeepsBlocks && bytes > size_t{1} << kFirstPower &&
         bytes <= size_t{1} << (kFirstPower + kPowers);
}

struct Size {
  size_t number;
  size_t bytes;
};

constexpr Size size_of(size_t bytes) {
  const int power = std::bit_width(bytes - 1) - 1;
  const int shift = power - std::countr_zero(kSteps);
  const size_t steps = (bytes - 1) >> shift;  // kSteps to 2 * kSteps - 1
  return {static_cast<size_t>(power - kFirstPower) * kSteps + steps - kSteps, (steps + 1) << shift};
}
static_assert(size_of((size_t{1} << 15) + 1).number == 0);
static_assert(size_of(size_t{1} << 16).bytes == size_t{1} << 16);
static_assert(size_of(size_t{1} << (kFirstPower + kPowers)).number == kSizes - 1);

// ----- what waits

// Written into a block that waits.
struct Waiting {
  struct Neighbours {
    Waiting* newer = nullptr;
    Waiting* older = nullptr;
  };
  Neighbours of_size, of_age;
  Size size;
};

// A list of blocks, by one of their pairs of neighbours.
template <Waiting::Neighbours Waiting::*kOf>
class List {
 public:
  [[nodiscard]] Waiting* newest() const { return newest_; }
  [[nodiscard]] Waiting* oldest() const { return oldest_; }

  void add(Waiting* block) {
    block->*kOf = {.newer = nullptr, .older = newest_};
    (newest_ != nullptr ? (newest_->*kOf).newer : oldest_) = block;
    newest_ = block;
  }

  void remove(Waiting* block) {
    const auto [newer, older] = block->*kOf;
    (newer != nullptr ? (newer->*kOf).older : newest_) = older;
    (older != nullptr ? (older->*kOf).newer : oldest_) = newer;
  }

 private:
  Waiting* newest_ = nullptr;
  Waiting* oldest_ = nullptr;
};

class Shard {
 public:
  void* take(size_t size_number) {
    const std::lock_guard lock(mutex_);
    Waiting* block = of_size_[size_number].newest();  // may still be in a cache of the processor
    return block != nullptr ? remove(block) : nullptr;
  }

  void give(void* block, Size size) {
    const std::lock_guard lock(mutex_);
    auto* waiting = new (block) Waiting{.of_size = {}, .of_age = {}, .size = size};
    of_size_[size.number].add(waiting);
    by_age_.add(waiting);
  }

  // Takes the oldest one.
  void* take_oldest(size_t& bytes) {
    const std::lock_guard lock(mutex_);
    Waiting* block = by_age_.oldest();
    if (block == nullptr) return nullptr;
    bytes = block->size.bytes;
    return remove(block);
  }

 private:
  void* remove(Waiting* block) {
    of_size_[block->size.number].remove(block);
    by_age_.remove(block);
    return block;
  }

  std::mutex mutex_;
  std::array<List<&Waiting::of_size>, kSizes> of_size_;
  List<&Waiting::of_age> by_age_;
};

class Memory {
 public:
  // Never destroyed: arrays may outlive it.
  static Memory& instance() {
    static Memory& memory = *new Memory;
    return memory;
  }

  void* allocate(size_t bytes) {
    if (!may_wait(bytes)) return noted(fresh(bytes), bytes);
    const Size size = size_of(bytes);
    if (cached_.load(std::memory_order_relaxed) > 0) {
      if (void* block = take(size)) return noted(block, size.bytes);
    }
    return noted(fresh(size.bytes), size.bytes);
  }

  void free(void* block, size_t bytes) noexcept {
    if (!may_wait(bytes)) {
      forget(bytes);
      return std::free(block);
    }
    const Size size = size_of(bytes);
    forget(size.bytes);
    const auto added = static_cast<int64_t>(size.bytes);
    const int64_t most = capacity();
    if (added > most) return std::free(block);
    cached_.fetch_add(added, std::memory_order_relaxed);
    shards_[own_shard()].give(block, size);
    shrink_to(most);
  }

  // The oldest blocks make room, first those of this thread's shard. Returns their bytes.
  int64_t shrink_to(int64_t most) noexcept {
    int64_t freed = 0;
    for (size_t i = 0; i < kShards; ++i) {
      Shard& shard = shards_[(own_shard() + i) % kShards];
      while (cached_.load(std::memory_order_relaxed) > most) {
        size_t bytes = 0;
        void* block = shard.take_oldest(bytes);
        if (block == nullptr) break;
        cached_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
        freed += static_cast<int64_t>(bytes);
        std::free(block);
      }
    }
    return freed;
  }

  [[nodiscard]] int64_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  void set_capacity(int64_t bytes) {
    capacity_.store(bytes, std::memory_order_relaxed);
    shrink_to(bytes);
  }

  [[nodiscard]] ArrayMemory now() const {
    constexpr auto kOrder = std::memory_order_relaxed;
    return {.live_bytes = live_.load(kOrder),
            .peak_bytes = peak_.load(kOrder),
            .cached_bytes = cached_.load(kOrder),
            .allocations = allocations_.load(kOrder),
            .cache_hits = hits_.load(kOrder),
            .in_place = in_place_.load(kOrder)};
  }

  void count_in_place() { in_place_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr size_t kShards = 8;

  Memory() : capacity_(setting<Setting::kMemoryCacheBytes>()) {}

  // Threads take turns.
  static size_t own_shard() {
    static std::atomic<size_t> threads{0};
    thread_local const size_t kOwn = threads.fetch_add(1, std::memory_order_relaxed) % kShards;
    return kOwn;
  }

  void* take(Size size) {
    for (size_t i = 0; i < kShards; ++i) {
      void* block = shards_[(own_shard() + i) % kShards].take(size.number);
      if (block == nullptr) continue;
      cached_.fetch_sub(static_cast<int64_t>(size.bytes), std::memory_order_relaxed);
      hits_.fetch_add(1, std::memory_order_relaxed);
      return block;
    }
    return nullptr;
  }

  void* fresh(size_t bytes) {
    void* block = std::malloc(bytes);
    if (block == nullptr && shrink_to(0) > 0) block = std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    if (bytes >= kLarge) use_huge_pages(block, bytes);
    return block;
  }

  static void use_huge_pages([[maybe_unused]] void* block, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
    const auto address = reinterpret_cast<uintptr_t>(block);
    const uintptr_t first = (address + kHugePage - 1) / kHugePage * kHugePage;
    const uintptr_t end = (address + bytes) / kHugePage * kHugePage;
    madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);  // may be refused
#endif
  }

  void* noted(void* block, size_t bytes) {
    const auto more = static_cast<int64_t>(bytes);
    allocations_.fetch_add(1, std::memory_order_relaxed);
    const int64_t live = live_.fetch_add(more, std::memory_order_relaxed) + more;
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
    return block;
  }
  void forget(size_t bytes) {
    live_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }

  std::array<Shard, kShards> shards_;
  std::atomic<int64_t> capacity_;
  std::atomic<int64_t> cached_{0};
  std::atomic<int64_t> live_{0}, peak_{0}, allocations_{0}, hits_{0}, in_place_{0};
};

}  // namespace

ArrayMemory array_memory() { return Memory::instance().now(); }

int64_t empty_cache() {
  const int64_t freed = Memory::instance().shrink_to(0);
#if defined(__GLIBC__)
  malloc_trim(0);  // what is free below blocks in use too
#endif
  return freed;
}

int64_t memory_cache_capacity() { return Memory::instance().capacity(); }
void set_memory_cache_capacity(int64_t bytes) {
  Memory::instance().set_capacity(std::max<int64_t>(bytes, 0));
}

void count_in_place() { Memory::instance().count_in_place(); }

void* allocate_block(size_t bytes) { return Memory::instance().allocate(bytes); }

void free_block(void* block, size_t bytes) noexcept {
  if (block != nullptr) Memory::instance().free(block, bytes);
}

}  // namespace heddle
