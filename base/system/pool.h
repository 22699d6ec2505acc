// Pooled<T>: an allocator for objects that come and go by the thousand, one at a time. A thread
// keeps a few freed blocks of each size for the next objects, which costs a fifth of malloc() and
// free(). It is for std::allocate_shared; any thread may free a block. Builds with a sanitizer keep
// no blocks, so that it finds a use after free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace heddle::base {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEDDLE_NO_POOLS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEDDLE_NO_POOLS 1
#endif

namespace pool_internal {

constexpr size_t kStep = 32;
constexpr size_t kSizes = 16;  // up to 512 bytes
constexpr uint16_t kMostKept = 32;

struct Block {
  Block* next;
};
struct Free {
  Block* first = nullptr;
  uint16_t room = 0;  // how many more it may keep; 0 until the thread is set to free all at its end
};
inline constinit thread_local Free free_blocks[kSizes];

// Frees or keeps `block` if the list is full, or if it is the thread's first or last.
void give_to_full(void* block, size_t number) noexcept;

}  // namespace pool_internal

inline void* allocate_pooled(size_t bytes) {
#if !defined(HEDDLE_NO_POOLS)
  const size_t number = (bytes - 1) / pool_internal::kStep;
  if (number < pool_internal::kSizes) [[likely]] {
    pool_internal::Free& list = pool_internal::free_blocks[number];
    if (pool_internal::Block* block = list.first) [[likely]] {
      list.first = block->next;
      ++list.room;
      return block;
    }
    return ::operator new((number + 1) * pool_internal::kStep);
  }
#endif
  return ::operator new(bytes);
}

inline void free_pooled(void* block, [[maybe_unused]] size_t bytes) noexcept {
#if !defined(HEDDLE_NO_POOLS)
  const size_t number = (bytes - 1) / pool_internal::kStep;
  if (number < pool_internal::kSizes) [[likely]] {
    pool_internal::Free& list = pool_internal::free_blocks[number];
    if (list.room == 0) [[unlikely]]
      return pool_internal::give_to_full(block, number);
    list.first = new (block) pool_internal::Block{list.first};
    --list.room;
    return;
  }
#endif
  ::operator delete(block);
}

template <class T>
struct Pooled {
  using value_type = T;
  Pooled() = default;
  template <class U>
  Pooled(const Pooled<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(allocate_pooled(count * sizeof(T))); }
  void deallocate(T* block, size_t count) noexcept { free_pooled(block, count * sizeof(T)); }
  friend bool operator==(const Pooled&, const Pooled&) { return true; }
};

// std::make_shared from the pool.
template <class T, class... Args>
std::shared_ptr<T> make_pooled(Args&&... args) {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  return std::allocate_shared<T>(Pooled<T>(), std::forward<Args>(args)...);
}

}  // namespace heddle::base
