#include "heddle/pjrt/internal/call_memory.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace heddle::pjrt {
namespace {

// The CUDA driver's functions. Each returns 0, or the number of an error.
struct CudaDriver {
  int (*to_host)(void* host, uint64_t device, size_t bytes, void* stream) = nullptr;
  int (*to_device)(uint64_t device, const void* host, size_t bytes, void* stream) = nullptr;
  int (*wait)(void* stream) = nullptr;

  bool is_there() const { return to_host != nullptr && to_device != nullptr && wait != nullptr; }
};

// The library stays loaded: the plugin that computes on the device has it too.
const CudaDriver& driver() {
  static const CudaDriver found = [] {
    CudaDriver it;
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return it;
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    find(it.to_host, "cuMemcpyDtoHAsync_v2");
    find(it.to_device, "cuMemcpyHtoDAsync_v2");
    find(it.wait, "cuStreamSynchronize");
    return it;
  }();
  return found;
}

uint64_t address_of(const void* array) { return reinterpret_cast<uintptr_t>(array); }

Status checked(int error, const char* function) {
  if (error == 0) return {};
  return base::make_error(StatusCode::kInternal, function, " answers with error ", error,
                          " of the CUDA driver");
}

}  // namespace

bool has_cuda_driver() { return driver().is_there(); }

StatusOr<CallMemory> CallMemory::on_cuda(const abi::FfiFrame& frame) {
  const auto refused = [](const char* why) {
    return base::make_error(StatusCode::kFailedPrecondition, "a host call on a CUDA device: ", why);
  };
  if (!has_cuda_driver()) return refused("libcuda.so.1 is not there");
  constexpr size_t kNeeded = offsetof(abi::FfiApi, stream_get) + sizeof(abi::FfiApi::stream_get);
  if (frame.api->head.struct_size < kNeeded || frame.api->stream_get == nullptr)
    return refused("the plugin tells no stream");
  abi::FfiStreamGetArgs args{.head = {.struct_size = sizeof(args)}, .context = frame.context};
  if (abi::FfiError* error = frame.api->stream_get(&args); error != nullptr) {
    abi::FfiErrorDestroyArgs gone{.head = {.struct_size = sizeof(gone)}, .error = error};
    frame.api->error_destroy(&gone);
    return refused("the plugin has no stream for it");
  }
  if (args.stream == nullptr) return refused("the plugin has no stream for it");
  return CallMemory(args.stream);
}

Status CallMemory::read(void* host, const void* array, size_t bytes) const {
  if (bytes == 0) return {};
  if (stream_ != nullptr) {
    return checked(driver().to_host(host, address_of(array), bytes, stream_), "cuMemcpyDtoHAsync");
  }
  std::memcpy(host, array, bytes);
  return {};
}

Status CallMemory::write(void* array, const void* host, size_t bytes) const {
  if (bytes == 0) return {};
  if (stream_ != nullptr) {
    return checked(driver().to_device(address_of(array), host, bytes, stream_),
                   "cuMemcpyHtoDAsync");
  }
  std::memcpy(array, host, bytes);
  return {};
}

Status CallMemory::wait() const {
  return stream_ == nullptr ? Status() : checked(driver().wait(stream_), "cuStreamSynchronize");
}

}  // namespace heddle::pjrt
