// What pjrt/internal/call_memory.cc calls of the CUDA driver. The address of an array of the device
// is that of host memory with every bit turned, so that the host cannot read it by mistake. Copies
// are made when their stream, a Stream of the test's, is waited for.
#include "heddle/pjrt/mock/cuda/driver.h"

#include <cstdint>
#include <cstring>

namespace {

using heddle::pjrt::mock::Stream;

int later(void* to, const void* from, size_t bytes, void* stream) {
  auto& of = *static_cast<Stream*>(stream);
  if (of.error != 0) return of.error;
  of.copies.push_back({to, from, bytes});
  return 0;
}

}  // namespace

extern "C" {

int cuMemcpyDtoHAsync_v2(void* host, uint64_t device, size_t bytes, void* stream) {
  return later(host, reinterpret_cast<const void*>(~device), bytes, stream);
}

int cuMemcpyHtoDAsync_v2(uint64_t device, const void* host, size_t bytes, void* stream) {
  return later(reinterpret_cast<void*>(~device), host, bytes, stream);
}

int cuStreamSynchronize(void* stream) {
  auto& of = *static_cast<Stream*>(stream);
  for (const auto& copy : of.copies) std::memcpy(copy.to, copy.from, copy.bytes);
  of.copies.clear();
  return of.error;
}

}  // extern "C"
