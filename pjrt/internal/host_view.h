// The memory of a plugin's buffer, where it is host memory.
#pragma once

#include <memory>

#include "heddle/base/status.h"
#include "heddle/pjrt/internal/buffer.h"

namespace heddle::pjrt {

struct HostView {
  const void* data = nullptr;         // row-major
  std::shared_ptr<const void> owner;  // the plugin keeps the memory as long
};

// errors   Unimplemented where the memory is not the host's, or holds the elements in another form;
//          FailedPrecondition for a deleted buffer
[[nodiscard]] StatusOr<HostView> view_of(const std::shared_ptr<const Client>& client,
                                         PjrtBuffer& buffer);

}  // namespace heddle::pjrt
