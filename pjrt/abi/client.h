// Calls of the PJRT C API on clients, devices and memories. See table.h.
#pragma once

#include "heddle/pjrt/abi/table.h"

namespace heddle::pjrt::abi {

// The store that processes share, as the plugin calls it.
using CallbackError = Error* (*)(int code, const char* message, size_t message_size);
using ValueDeleter = void (*)(char* value);

struct KeyValueGetArgs {
  Head head;
  const char* key = {};
  size_t key_size = {};
  int timeout_in_ms = {};
  CallbackError* callback_error = {};
  void* user_arg = {};
  char* value = {};
  size_t value_size = {};
  ValueDeleter value_deleter = {};
};

struct KeyValueTryGetArgs {
  Head head;
  const char* key = {};
  size_t key_size = {};
  CallbackError* callback_error = {};
  void* user_arg = {};
  char* value = {};
  size_t value_size = {};
  ValueDeleter value_deleter = {};
};

struct KeyValuePutArgs {
  Head head;
  const char* key = {};
  size_t key_size = {};
  const char* value = {};
  size_t value_size = {};
  CallbackError* callback_error = {};
  void* user_arg = {};
};

using KeyValueGetCallback = Error* (*)(KeyValueGetArgs*);
using KeyValueTryGetCallback = Error* (*)(KeyValueTryGetArgs*);
using KeyValuePutCallback = Error* (*)(KeyValuePutArgs*);

struct ClientCreateArgs {
  static constexpr Slot kSlot = Slot::kClientCreate;
  Head head;
  const NamedValue* create_options = {};
  size_t options_count = {};
  KeyValueGetCallback kv_get_callback = {};
  void* kv_get_user_arg = {};
  KeyValuePutCallback kv_put_callback = {};
  void* kv_put_user_arg = {};
  Client* client = {};
  KeyValueTryGetCallback kv_try_get_callback = {};  // since 0.61
  void* kv_try_get_user_arg = {};                   // since 0.61
};

struct ClientDestroyArgs {
  static constexpr Slot kSlot = Slot::kClientDestroy;
  Head head;
  Client* client = {};
};

struct ClientPlatformNameArgs {
  static constexpr Slot kSlot = Slot::kClientPlatformName;
  Head head;
  Client* client = {};
  const char* platform_name = {};
  size_t platform_name_size = {};
};

struct ClientPlatformVersionArgs {
  static constexpr Slot kSlot = Slot::kClientPlatformVersion;
  Head head;
  Client* client = {};
  const char* platform_version = {};
  size_t platform_version_size = {};
};

struct ClientProcessIndexArgs {
  static constexpr Slot kSlot = Slot::kClientProcessIndex;
  Head head;
  Client* client = {};
  int process_index = {};
};

struct ClientDevicesArgs {
  static constexpr Slot kSlot = Slot::kClientDevices;
  Head head;
  Client* client = {};
  Device* const* devices = {};
  size_t devices_count = {};
};

struct ClientAddressableDevicesArgs {
  static constexpr Slot kSlot = Slot::kClientAddressableDevices;
  Head head;
  Client* client = {};
  Device* const* addressable_devices = {};
  size_t addressable_devices_count = {};
};

struct ClientLookupDeviceArgs {
  static constexpr Slot kSlot = Slot::kClientLookupDevice;
  Head head;
  Client* client = {};
  int id = {};
  Device* device = {};
};

struct ClientLookupAddressableDeviceArgs {
  static constexpr Slot kSlot = Slot::kClientLookupAddressableDevice;
  Head head;
  Client* client = {};
  int local_hardware_id = {};
  Device* addressable_device = {};
};

struct ClientAddressableMemoriesArgs {
  static constexpr Slot kSlot = Slot::kClientAddressableMemories;
  Head head;
  Client* client = {};
  Memory* const* addressable_memories = {};
  size_t addressable_memories_count = {};
};

struct ClientDefaultDeviceAssignmentArgs {
  static constexpr Slot kSlot = Slot::kClientDefaultDeviceAssignment;
  Head head;
  Client* client = {};
  int replicas_count = {};
  int partitions_count = {};
  size_t default_assignment_size = {};
  int* default_assignment = {};
};

struct DeviceDescriptionIdArgs {
  static constexpr Slot kSlot = Slot::kDeviceDescriptionId;
  Head head;
  DeviceDescription* device_description = {};
  int id = {};
};

struct DeviceDescriptionProcessIndexArgs {
  static constexpr Slot kSlot = Slot::kDeviceDescriptionProcessIndex;
  Head head;
  DeviceDescription* device_description = {};
  int process_index = {};
};

struct DeviceDescriptionKindArgs {
  static constexpr Slot kSlot = Slot::kDeviceDescriptionKind;
  Head head;
  DeviceDescription* device_description = {};
  const char* device_kind = {};
  size_t device_kind_size = {};
};

struct DeviceDescriptionDebugStringArgs {
  static constexpr Slot kSlot = Slot::kDeviceDescriptionDebugString;
  Head head;
  DeviceDescription* device_description = {};
  const char* debug_string = {};
  size_t debug_string_size = {};
};

struct DeviceDescriptionToStringArgs {
  static constexpr Slot kSlot = Slot::kDeviceDescriptionToString;
  Head head;
  DeviceDescription* device_description = {};
  const char* to_string = {};
  size_t to_string_size = {};
};

struct DeviceGetDescriptionArgs {
  static constexpr Slot kSlot = Slot::kDeviceGetDescription;
  Head head;
  Device* device = {};
  DeviceDescription* device_description = {};
};

struct DeviceIsAddressableArgs {
  static constexpr Slot kSlot = Slot::kDeviceIsAddressable;
  Head head;
  Device* device = {};
  bool is_addressable = {};
};

struct DeviceLocalHardwareIdArgs {
  static constexpr Slot kSlot = Slot::kDeviceLocalHardwareId;
  Head head;
  Device* device = {};
  int local_hardware_id = {};
};

struct DeviceDefaultMemoryArgs {
  static constexpr Slot kSlot = Slot::kDeviceDefaultMemory;
  Head head;
  Device* device = {};
  Memory* memory = {};
};

struct DeviceMemoryStatsArgs {
  static constexpr Slot kSlot = Slot::kDeviceMemoryStats;
  Head head;
  Device* device = {};
  int64_t bytes_in_use = {};
  int64_t peak_bytes_in_use = {};
  bool peak_bytes_in_use_is_set = {};
  int64_t allocs_count = {};
  bool allocs_is_set_count = {};
  int64_t largest_alloc_size = {};
  bool largest_alloc_size_is_set = {};
  int64_t bytes_limit = {};
  bool bytes_limit_is_set = {};
  int64_t bytes_reserved = {};
  bool bytes_reserved_is_set = {};
  int64_t peak_bytes_reserved = {};
  bool peak_bytes_reserved_is_set = {};
  int64_t bytes_reservable_limit = {};
  bool bytes_reservable_limit_is_set = {};
  int64_t largest_free_block_bytes = {};
  bool largest_free_block_bytes_is_set = {};
  int64_t pool_bytes = {};
  bool pool_bytes_is_set = {};
  int64_t peak_pool_bytes = {};
  bool peak_pool_bytes_is_set = {};
  int64_t peak_allocated_bytes = {};      // since 0.113
  bool peak_allocated_bytes_is_set = {};  // since 0.113
};

struct MemoryIdArgs {
  static constexpr Slot kSlot = Slot::kMemoryId;
  Head head;
  Memory* memory = {};
  int id = {};
};

struct MemoryKindArgs {
  static constexpr Slot kSlot = Slot::kMemoryKind;
  Head head;
  Memory* memory = {};
  const char* kind = {};
  size_t kind_size = {};
};

}  // namespace heddle::pjrt::abi
