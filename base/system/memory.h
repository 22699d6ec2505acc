// Running out of host memory is an error like others.
#pragma once

#include <new>
#include <stdexcept>

#include "heddle/base/status.h"

namespace heddle::base {

// Returns work(), or ResourceExhausted that begins with `what` where it runs out of memory, or asks
// a container for more than can be. The only exceptions that can come from below trace/.
template <class Work, class... What>
[[nodiscard]] auto within_memory(const Work& work, const What&... what) -> decltype(work()) {
  const auto refused = [&] {
    return base::resource_exhausted(what..., " needs more host memory than there is");
  };
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return refused();
  } catch (const std::length_error&) {
    return refused();
  }
}

}  // namespace heddle::base
