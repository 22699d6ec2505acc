// DLPack: arrays handed to and taken from other libraries (NumPy, PyTorch, JAX, CuPy, ..) without a
// copy, where their memory is host memory.
//
//   dlpack::ManagedTensor* out = to_dlpack(*buffer).value();   // for their from_dlpack()
//   BufferPtr in = from_dlpack(device, theirs).value();
//
// The structures are DLPack's C interface, version 0.6 and later, laid out here as facts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/runtime/backend.h"

namespace heddle::runtime {

namespace dlpack {

enum class DeviceType : int32_t { kCpu = 1, kCudaHost = 3 };  // the ones whose memory hosts read

enum class TypeCode : uint8_t {
  kInt = 0,
  kUint = 1,
  kFloat = 2,
  kOpaque = 3,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
};

struct Place {
  DeviceType type = DeviceType::kCpu;
  int32_t id = 0;
};

struct DataType {
  TypeCode code = TypeCode::kFloat;
  uint8_t bits = 0;
  uint16_t lanes = 1;
};

struct Tensor {
  void* data = nullptr;
  Place device;
  int32_t rank = 0;
  DataType dtype;
  int64_t* shape = nullptr;
  int64_t* strides = nullptr;  // in elements; null: row-major
  uint64_t byte_offset = 0;    // from data to the first element
};

struct ManagedTensor {
  Tensor tensor;
  void* context = nullptr;
  void (*deleter)(ManagedTensor* self) = nullptr;  // may be null
};

static_assert(sizeof(Place) == 8 && sizeof(DataType) == 4);
static_assert(offsetof(Tensor, device) == 8 && offsetof(Tensor, rank) == 16);
static_assert(offsetof(Tensor, dtype) == 20 && offsetof(Tensor, shape) == 24);
static_assert(offsetof(Tensor, strides) == 32 && offsetof(Tensor, byte_offset) == 40);
static_assert(sizeof(Tensor) == 48 && sizeof(ManagedTensor) == 64);
static_assert(offsetof(ManagedTensor, context) == 48 && offsetof(ManagedTensor, deleter) == 56);

}  // namespace dlpack

// Waits for the buffer and hands out its memory, as a view_on_host() of it: it stays until the
// receiver calls the deleter, which it must, and nobody may write to it.
//
// errors   as view_on_host(); Unimplemented for an element type that DLPack has no code for
// cost     aliased_bytes grows by the size
[[nodiscard]] StatusOr<dlpack::ManagedTensor*> to_dlpack(Buffer& buffer,
                                                         std::string_view what = "");

// Lends another library's array to the device, as lend_to_device(): nobody may write to it while
// the buffer lives. Copies where it is not row-major or not aligned. The tensor is this function's
// once it succeeds; its deleter is called when the memory is no longer used, on any thread.
//
// errors   InvalidArgument for null or a shape that is none; Unimplemented for memory that is not
//          the host's, a type that Heddle has not, or several lanes; else as lend_to_device()
[[nodiscard]] StatusOr<BufferPtr> from_dlpack(Device& device, dlpack::ManagedTensor* tensor,
                                              std::string_view what = "");

}  // namespace heddle::runtime
