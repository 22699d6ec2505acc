// Values that each thread has for itself.
#pragma once

#include <memory>

namespace heddle::base {

// This thread's T, one for each type; null when the thread's variables are being destroyed: what
// still runs then does without.
template <class T>
T* of_this_thread() {
  thread_local bool is_gone = false;  // has no destructor, so that it may be read at any time
  struct Owner {
    std::unique_ptr<T> value = std::make_unique<T>();
    ~Owner() { is_gone = true; }
  };
  if (is_gone) return nullptr;
  thread_local const Owner kOwner;
  return kOwner.value.get();
}

}  // namespace heddle::base
