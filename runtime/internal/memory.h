// Running out of host memory is an error like others.
#pragma once

#include <new>

#include "heddle/base/status.h"

namespace heddle::runtime {

// Returns work(), or ResourceExhausted that begins with `what` where it runs out of memory. The one
// exception that can come from below trace/.
template <class Work, class... What>
[[nodiscard]] auto within_memory(const Work& work, const What&... what) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return resource_exhausted(what..., " needs more host memory than there is");
  }
}

}  // namespace heddle::runtime
