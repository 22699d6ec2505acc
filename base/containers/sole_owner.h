// is_sole_owner(): whether a shared object may be written to in place.
#pragma once

#include <atomic>
#include <memory>

#if defined(__SANITIZE_THREAD__)
#define HEDDLE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEDDLE_THREAD_SANITIZER 1
#endif
#endif

namespace heddle::base {

// Whether nobody else shares the object. The reads of those who shared it come before what the
// caller writes.
template <class T>
[[nodiscard]] bool is_sole_owner(const std::shared_ptr<T>& owner) {
  if (owner.use_count() != 1) return false;  // a relaxed read
#ifdef HEDDLE_THREAD_SANITIZER
  [[maybe_unused]] const auto fence = owner;  // the sanitizer sees the counter, and no fences
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return true;
}

}  // namespace heddle::base
