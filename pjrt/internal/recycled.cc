#include "heddle/pjrt/internal/recycled.h"

#include <utility>

namespace heddle::pjrt {

void* FreeBlocks::take() {
  {
    std::scoped_lock lock(mutex_);
    if (first_ != nullptr) {
      --count_;
      return std::exchange(first_, first_->next);
    }
  }
  return ::operator new(bytes_);
}

// The sanitizers see each block's end.
void FreeBlocks::give(void* block) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  std::scoped_lock lock(mutex_);
  if (count_ < kMost) {
    ++count_;
    first_ = new (block) Block{first_};
    return;
  }
#endif
  ::operator delete(block);
}

}  // namespace heddle::pjrt
