// Memory that a kernel needs while it runs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::cpu {

// A thread has up to 8 MiB for its next kernel: memory that the system gives anew costs a page
// fault for every 4 KiB. Aligned to 64 bytes; other threads may use it too.
class KernelScratch {
 public:
  explicit KernelScratch(size_t bytes);
  ~KernelScratch();
  KernelScratch(const KernelScratch&) = delete;
  KernelScratch& operator=(const KernelScratch&) = delete;

  // The next `count` elements. Together they are at most the bytes, where each part but the last is
  // rounded up.
  template <class T>
  T* take(int64_t count) {
    auto* part = reinterpret_cast<T*>(next_);
    next_ += rounded(static_cast<size_t>(count) * sizeof(T));
    return part;
  }
  static constexpr size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  struct Block;  // the thread's

  Block* block_ = nullptr;  // null: `own_` is used
  std::byte* own_ = nullptr;
  std::byte* next_ = nullptr;
};

}  // namespace heddle::cpu
