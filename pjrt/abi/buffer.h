// Calls of the PJRT C API on buffers. See table.h.
#pragma once

#include "heddle/pjrt/abi/table.h"

namespace heddle::pjrt::abi {

struct ClientBufferFromHostBufferArgs {
  static constexpr Slot kSlot = Slot::kClientBufferFromHostBuffer;
  Head head;
  Client* client = {};
  const void* data = {};
  BufferType type = {};
  const int64_t* dims = {};
  size_t dims_count = {};
  const int64_t* byte_strides = {};
  size_t byte_strides_count = {};
  HostSemantics host_buffer_semantics = {};
  Device* device = {};
  Memory* memory = {};
  MemoryLayout* device_layout = {};
  Event* done_with_host_buffer = {};
  Buffer* buffer = {};
};

struct ClientCreateUninitializedBufferArgs {
  static constexpr Slot kSlot = Slot::kClientCreateUninitializedBuffer;
  Head head;
  Client* client = {};
  const int64_t* shape_dims = {};
  size_t shape_num_dims = {};
  BufferType shape_element_type = {};
  MemoryLayout* shape_layout = {};
  Device* device = {};
  Memory* memory = {};
  Buffer* buffer = {};
};

struct BufferDestroyArgs {
  static constexpr Slot kSlot = Slot::kBufferDestroy;
  Head head;
  Buffer* buffer = {};
};

struct BufferElementTypeArgs {
  static constexpr Slot kSlot = Slot::kBufferElementType;
  Head head;
  Buffer* buffer = {};
  BufferType type = {};
};

struct BufferDimensionsArgs {
  static constexpr Slot kSlot = Slot::kBufferDimensions;
  Head head;
  Buffer* buffer = {};
  const int64_t* dims = {};
  size_t dims_count = {};
};

struct BufferToHostBufferArgs {
  static constexpr Slot kSlot = Slot::kBufferToHostBuffer;
  Head head;
  Buffer* src = {};
  MemoryLayout* host_layout = {};
  void* dst = {};
  size_t dst_size = {};
  Event* event = {};
};

struct BufferOnDeviceSizeInBytesArgs {
  static constexpr Slot kSlot = Slot::kBufferOnDeviceSizeInBytes;
  Head head;
  Buffer* buffer = {};
  size_t on_device_size_in_bytes = {};
};

struct BufferDeleteArgs {
  static constexpr Slot kSlot = Slot::kBufferDelete;
  Head head;
  Buffer* buffer = {};
};

struct BufferIsDeletedArgs {
  static constexpr Slot kSlot = Slot::kBufferIsDeleted;
  Head head;
  Buffer* buffer = {};
  bool is_deleted = {};
};

struct BufferCopyToDeviceArgs {
  static constexpr Slot kSlot = Slot::kBufferCopyToDevice;
  Head head;
  Buffer* buffer = {};
  Device* dst_device = {};
  Buffer* dst_buffer = {};
};

struct BufferIsOnCpuArgs {
  static constexpr Slot kSlot = Slot::kBufferIsOnCpu;
  Head head;
  Buffer* buffer = {};
  bool is_on_cpu = {};
};

struct BufferReadyEventArgs {
  static constexpr Slot kSlot = Slot::kBufferReadyEvent;
  Head head;
  Buffer* buffer = {};
  Event* event = {};
};

struct BufferUnsafePointerArgs {
  static constexpr Slot kSlot = Slot::kBufferUnsafePointer;
  Head head;
  Buffer* buffer = {};
  uintptr_t buffer_pointer = {};
};

struct BufferIncreaseExternalReferenceCountArgs {
  static constexpr Slot kSlot = Slot::kBufferIncreaseExternalReferenceCount;
  Head head;
  Buffer* buffer = {};
};

struct BufferDecreaseExternalReferenceCountArgs {
  static constexpr Slot kSlot = Slot::kBufferDecreaseExternalReferenceCount;
  Head head;
  Buffer* buffer = {};
};

struct BufferOpaqueDeviceMemoryDataPointerArgs {
  static constexpr Slot kSlot = Slot::kBufferOpaqueDeviceMemoryDataPointer;
  Head head;
  Buffer* buffer = {};
  void* device_memory_ptr = {};
};

}  // namespace heddle::pjrt::abi
