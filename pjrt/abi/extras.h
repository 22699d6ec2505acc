// Calls of the PJRT C API that Heddle itself does not make: what its tests of a plugin's behaviour
// ask for. See table.h.
#pragma once

#include "heddle/pjrt/abi/table.h"

namespace heddle::pjrt::abi {

struct AsyncHostToDeviceTransferManager;
struct FulfillAliasBufferCallback;
struct DeviceAssignmentSerialized;
struct MemoryDescription;
struct LayoutsMemoryLayout;
struct LayoutsSerializedLayout;

struct ClientCreateViewOfDeviceBufferArgs {
  static constexpr Slot kSlot = Slot::kClientCreateViewOfDeviceBuffer;
  Head head;
  Client* client = {};
  void* device_buffer_ptr = {};
  const int64_t* dims = {};
  size_t dims_count = {};
  BufferType element_type = {};
  MemoryLayout* layout = {};
  Device* device = {};
  void (*on_delete_callback)(void* device_buffer_ptr, void* user_arg) = nullptr;
  void* on_delete_callback_arg = {};
  intptr_t stream = {};
  Buffer* buffer = {};
  Memory* memory = {};  // since 0.66
};

struct BufferDynamicDimensionIndicesArgs {
  static constexpr Slot kSlot = Slot::kBufferDynamicDimensionIndices;
  Head head;
  Buffer* buffer = {};
  const size_t* dynamic_dim_indices = {};
  size_t dynamic_dim_indices_count = {};
};

struct BufferCopyRawToHostArgs {
  static constexpr Slot kSlot = Slot::kBufferCopyRawToHost;
  Head head;
  Buffer* buffer = {};
  void* dst = {};
  int64_t offset = {};
  int64_t transfer_size = {};
  Event* event = {};
};

struct BufferCopyToMemoryArgs {
  static constexpr Slot kSlot = Slot::kBufferCopyToMemory;
  Head head;
  Buffer* buffer = {};
  Memory* dst_memory = {};
  Buffer* dst_buffer = {};
};

struct ClientCreateAliasBufferArgs {
  static constexpr Slot kSlot = Slot::kClientCreateAliasBuffer;
  Head head;
  Client* client = {};
  Memory* memory = {};
  const int64_t* shape_dims = {};
  size_t shape_num_dims = {};
  BufferType shape_element_type = {};
  MemoryLayout* shape_layout = {};
  Buffer* alias_buffer = {};
  FulfillAliasBufferCallback* fulfill_alias_buffer_cb = {};
};

struct ClientFulfillAliasBufferArgs {
  static constexpr Slot kSlot = Slot::kClientFulfillAliasBuffer;
  Head head;
  Client* client = {};
  Buffer* buffer = {};
  ErrorCode status_code = {};
  const char* error_message = {};
  size_t error_message_size = {};
  FulfillAliasBufferCallback* fulfill_alias_buffer_cb = {};
};

struct LoadedExecutableGetDeviceAssignmentArgs {
  static constexpr Slot kSlot = Slot::kLoadedExecutableGetDeviceAssignment;
  Head head;
  LoadedExecutable* executable = {};
  const char* serialized_bytes = {};
  size_t serialized_bytes_size = {};
  DeviceAssignmentSerialized* serialized_device_assignment = {};
  void (*deleter)(DeviceAssignmentSerialized* gone) = nullptr;
};

struct ExecuteContextCreateArgs {
  static constexpr Slot kSlot = Slot::kExecuteContextCreate;
  Head head;
  ExecuteContext* context = {};
};

struct ExecuteContextDestroyArgs {
  static constexpr Slot kSlot = Slot::kExecuteContextDestroy;
  Head head;
  ExecuteContext* context = {};
};

struct ExecutableFingerprintArgs {
  static constexpr Slot kSlot = Slot::kExecutableFingerprint;
  Head head;
  Executable* executable = {};
  const char* executable_fingerprint = {};
  size_t executable_fingerprint_size = {};
};

struct ClientCreateErrorBufferArgs {
  static constexpr Slot kSlot = Slot::kClientCreateErrorBuffer;
  Head head;
  Client* client = {};
  ErrorCode error_code = {};
  const char* error_message = {};
  size_t error_message_size = {};
  const int64_t* shape_dims = {};
  size_t shape_num_dims = {};
  BufferType shape_element_type = {};
  MemoryLayout* shape_layout = {};
  Memory* memory = {};
  Buffer* buffer = {};
  const NamedValue* payload = {};  // since 0.103
  size_t payload_count = {};       // since 0.103
};

struct BufferBitcastArgs {
  static constexpr Slot kSlot = Slot::kBufferBitcast;
  Head head;
  Buffer* buffer = {};
  BufferType element_type = {};
  const int64_t* dims = {};
  size_t dims_count = {};
  MemoryLayout* device_layout = {};
  Buffer* out_buffer = {};
};

struct ClientDmaMapArgs {
  static constexpr Slot kSlot = Slot::kClientDmaMap;
  Head head;
  Client* client = {};
  void* data = {};
  size_t size = {};
};

struct ClientDmaUnmapArgs {
  static constexpr Slot kSlot = Slot::kClientDmaUnmap;
  Head head;
  Client* client = {};
  void* data = {};
};

struct EventCreateArgs {
  static constexpr Slot kSlot = Slot::kEventCreate;
  Head head;
  Event* event = {};
};

struct EventSetArgs {
  static constexpr Slot kSlot = Slot::kEventSet;
  Head head;
  Event* event = {};
  ErrorCode error_code = {};
  const char* error_message = {};
  size_t error_message_size = {};
};

// ---- Uploads piece by piece.

struct ShapeSpec {
  Head head;
  const int64_t* dims = {};
  size_t dims_count = {};
  BufferType element_type = {};
};

struct ClientCreateBuffersForAsyncHostToDeviceArgs {
  static constexpr Slot kSlot = Slot::kClientCreateBuffersForAsyncHostToDevice;
  Head head;
  Client* client = {};
  ShapeSpec* shape_specs = {};
  size_t shape_specs_count = {};
  MemoryLayout** device_layouts = {};
  size_t device_layouts_count = {};
  Memory* memory = {};
  AsyncHostToDeviceTransferManager* transfer_manager = {};
};

struct AsyncHostToDeviceTransferManagerDestroyArgs {
  static constexpr Slot kSlot = Slot::kAsyncHostToDeviceTransferManagerDestroy;
  Head head;
  AsyncHostToDeviceTransferManager* transfer_manager = {};
};

struct AsyncHostToDeviceTransferManagerTransferDataArgs {
  static constexpr Slot kSlot = Slot::kAsyncHostToDeviceTransferManagerTransferData;
  Head head;
  AsyncHostToDeviceTransferManager* transfer_manager = {};
  int buffer_index = {};
  const void* data = {};
  int64_t offset = {};
  int64_t transfer_size = {};
  bool is_last_transfer = {};
  Event* done_with_h2d_transfer = {};
};

struct AsyncHostToDeviceTransferManagerRetrieveBufferArgs {
  static constexpr Slot kSlot = Slot::kAsyncHostToDeviceTransferManagerRetrieveBuffer;
  Head head;
  AsyncHostToDeviceTransferManager* transfer_manager = {};
  int buffer_index = {};
  Buffer* buffer_out = {};
};

struct AsyncHostToDeviceTransferManagerSetBufferErrorArgs {
  static constexpr Slot kSlot = Slot::kAsyncHostToDeviceTransferManagerSetBufferError;
  Head head;
  AsyncHostToDeviceTransferManager* transfer_manager = {};
  int buffer_index = {};
  ErrorCode error_code = {};
  const char* error_message = {};
  size_t error_message_size = {};
};

// ---- Extensions.

struct DeviceDescriptionMemoryDescriptionsArgs {
  Head head;
  DeviceDescription* device_description = {};
  const MemoryDescription* const* memory_descriptions = {};
  size_t memory_descriptions_count = {};
  size_t default_memory_index = {};
};

struct MemoryDescriptionKindArgs {
  Head head;
  const MemoryDescription* memory_description = {};
  const char* kind = {};
  size_t kind_size = {};
  int kind_id = {};
};

struct MemoryDescriptionsExtension {
  Extension base;
  Error* (*memory_descriptions)(DeviceDescriptionMemoryDescriptionsArgs* args) = nullptr;
  Error* (*kind)(MemoryDescriptionKindArgs* args) = nullptr;
};

struct LayoutsMemoryLayoutDestroyArgs {
  Head head;
  LayoutsMemoryLayout* layout = {};
};

struct LayoutsMemoryLayoutSerializeArgs {
  Head head;
  LayoutsMemoryLayout* layout = {};
  const char* serialized_bytes = {};
  size_t serialized_bytes_size = {};
  LayoutsSerializedLayout* serialized_layout = {};
  void (*deleter)(LayoutsSerializedLayout* gone) = nullptr;
};

struct LayoutsBufferMemoryLayoutArgs {
  Head head;
  Buffer* buffer = {};
  LayoutsMemoryLayout* layout = {};
};

// More functions follow.
struct LayoutsExtension {
  Extension base;
  Error* (*destroy)(LayoutsMemoryLayoutDestroyArgs* args) = nullptr;
  Error* (*serialize)(LayoutsMemoryLayoutSerializeArgs* args) = nullptr;
  void* client_default_layout = nullptr;
  Error* (*buffer_memory_layout)(LayoutsBufferMemoryLayoutArgs* args) = nullptr;
};

}  // namespace heddle::pjrt::abi
