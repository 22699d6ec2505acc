// Recycled: an allocator for std::allocate_shared whose blocks are kept for the next object of
// their size, so that a call that is repeated asks the system for no memory.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>

namespace heddle::pjrt {

// Free blocks of one size. Safe from any thread: blocks come back on other threads than they went.
class FreeBlocks {
 public:
  explicit FreeBlocks(size_t bytes) : bytes_(bytes) {}
  FreeBlocks(const FreeBlocks&) = delete;
  FreeBlocks& operator=(const FreeBlocks&) = delete;

  [[nodiscard]] void* take();
  void give(void* block);

 private:
  struct Block {
    Block* next;
  };
  static constexpr int kMost = 1024;  // kept

  const size_t bytes_;
  std::mutex mutex_;
  Block* first_ = nullptr;
  int count_ = 0;
};

// Of one object at a time.
template <class T>
class Recycled {
 public:
  using value_type = T;
  Recycled() = default;
  template <class Other>
  Recycled(const Recycled<Other>&) {}  // implicit, as allocators are

  [[nodiscard]] T* allocate(size_t count) {
    if (count != 1) return static_cast<T*>(::operator new(count * sizeof(T)));
    return static_cast<T*>(blocks().take());
  }
  void deallocate(T* object, size_t count) {
    if (count != 1) return ::operator delete(object);
    blocks().give(object);
  }
  friend bool operator==(const Recycled&, const Recycled&) { return true; }

 private:
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  // Never destroyed: objects may outlive what is static.
  static FreeBlocks& blocks() {
    static FreeBlocks& instance =
        *new FreeBlocks(sizeof(T) < sizeof(void*) ? sizeof(void*) : sizeof(T));
    return instance;
  }
};

}  // namespace heddle::pjrt
