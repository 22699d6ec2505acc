// The memory of the arrays of a host call: the host's own, or a CUDA device's.
#pragma once

#include <cstddef>

#include "heddle/base/status.h"
#include "heddle/pjrt/abi/ffi.h"

namespace heddle::pjrt {

// Whether this process has the CUDA driver's functions that on_cuda() needs.
[[nodiscard]] bool has_cuda_driver();

// Copies between the host and the arrays of one call. A copy may happen later, in the order in
// which copies were asked for; wait() returns when all are done.
class CallMemory {
 public:
  // Of a call that a plugin makes on host memory.
  static CallMemory on_host() { return CallMemory(nullptr); }
  // Of a call on a CUDA device: copies keep the order of the call's stream.
  // errors   FailedPrecondition where there is no driver, or the plugin has no stream for the call
  [[nodiscard]] static StatusOr<CallMemory> on_cuda(const abi::FfiFrame& frame);

  // errors   Internal, with the driver's number, where a copy fails; here and below
  [[nodiscard]] Status read(void* host, const void* array, size_t bytes) const;
  [[nodiscard]] Status write(void* array, const void* host, size_t bytes) const;
  [[nodiscard]] Status wait() const;

 private:
  explicit CallMemory(void* stream) : stream_(stream) {}

  void* stream_;  // a CUstream; null: the memory is the host's
};

}  // namespace heddle::pjrt
