// Where bytes move: the one pair of functions between host and device, for every backend. They
// count calls and bytes (base/counters.h) and obey the TransferGuard in force.
#pragma once

#include <memory>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/hlo/literal.h"
#include "heddle/runtime/backend.h"

namespace heddle::runtime {

// Memory that is lent has to start at a multiple of this.
inline constexpr size_t kLendAlignment = 64;

// Copies an array to the device. The literal may change or go once this has returned. An empty
// array counts 1 upload of 0 bytes.
//
// what     who asks, for the guard's message: "array", "scan init.h"
// errors   FailedPrecondition under a guard, or for an elided literal; InvalidArgument for a tuple;
//          else the backend's
[[nodiscard]] StatusOr<BufferPtr> to_device(Device& device, const Literal& literal,
                                            std::string_view what = "");

// Lends host memory to the device without a copy: row-major bytes, which must not change while
// `owner` is held. Copies (and counts an upload) where the memory is not aligned to kLendAlignment
// or the backend cannot use it. A program never writes to lent memory.
//
// errors   as to_device(): a guard forbids lending too, since another backend would copy
// cost     aliased_bytes grows by the size, or upload_bytes where it was copied
[[nodiscard]] StatusOr<BufferPtr> lend_to_device(Device& device, const void* data,
                                                 const Shape& shape,
                                                 std::shared_ptr<const void> owner,
                                                 std::string_view what = "");

// Waits for the buffer and copies it to the host. An empty array counts 1 download of 0 bytes.
//
// errors   FailedPrecondition under a guard (before any wait), or for a deleted buffer; the error
//          of the run that made the buffer
[[nodiscard]] StatusOr<Literal> to_host(Buffer& buffer, std::string_view what = "");

}  // namespace heddle::runtime
