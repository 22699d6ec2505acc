// The offsets and sizes of the PJRT C API, of its extensions and of XLA's foreign function
// interface, as facts (64-bit Linux), against our structures.
#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/client.h"
#include "heddle/pjrt/abi/executable.h"
#include "heddle/pjrt/abi/extras.h"
#include "heddle/pjrt/abi/ffi.h"
#include "heddle/pjrt/abi/table.h"

namespace heddle::pjrt::abi {
namespace {

// HEDDLE_ABI(type, size, member, offset, ..). Macros, since offsetof() takes the name of a member.
#define HEDDLE_ABI(type, size, ...)                                                        \
  static_assert([] {                                                                       \
    using Type = type;                                                                     \
    return sizeof(Type) == (size)__VA_OPT__(&&HEDDLE_ABI_ALL(HEDDLE_ABI_AT(__VA_ARGS__))); \
  }())
#define HEDDLE_ABI_AT(member, byte, ...) \
  offsetof(Type, member) == (byte)__VA_OPT__(&&HEDDLE_ABI_NEXT HEDDLE_ABI_BRACKETS(__VA_ARGS__))
// The text of a macro does not name itself: each of these reads it 5 times more.
#define HEDDLE_ABI_NEXT() HEDDLE_ABI_AT
#define HEDDLE_ABI_BRACKETS ()
#define HEDDLE_ABI_ALL(...) \
  HEDDLE_ABI_SOME(HEDDLE_ABI_SOME(HEDDLE_ABI_SOME(HEDDLE_ABI_SOME(HEDDLE_ABI_SOME(__VA_ARGS__)))))
#define HEDDLE_ABI_SOME(...) \
  HEDDLE_ABI_ONCE(HEDDLE_ABI_ONCE(HEDDLE_ABI_ONCE(HEDDLE_ABI_ONCE(HEDDLE_ABI_ONCE(__VA_ARGS__)))))
#define HEDDLE_ABI_ONCE(...) __VA_ARGS__

HEDDLE_ABI(Head, 16, struct_size, 0, extensions, 8);
HEDDLE_ABI(Extension, 24, type, 8, next, 16);
HEDDLE_ABI(Version, 24, major, 16, minor, 20);
HEDDLE_ABI(Table, 1144, version, 16, rows, 40);
HEDDLE_ABI(NamedValue, 56, name, 16, name_size, 24, type, 32, value, 40, value_size, 48);
HEDDLE_ABI(Program, 48, code, 16, code_size, 24, format, 32, format_size, 40);
HEDDLE_ABI(TiledLayout, 56, minor_to_major, 16, minor_to_major_size, 24, tile_dims, 32,
           tile_dim_sizes, 40, tile_count, 48);
HEDDLE_ABI(StridesLayout, 32, byte_strides, 16, byte_stride_count, 24);
HEDDLE_ABI(MemoryLayout, 80, layout, 16, type, 72);
HEDDLE_ABI(PluginInitializeArgs, 16);
HEDDLE_ABI(ErrorDestroyArgs, 24, error, 16);
HEDDLE_ABI(ErrorMessageArgs, 40, error, 16, message, 24, message_size, 32);
HEDDLE_ABI(ErrorGetCodeArgs, 32, error, 16, code, 24);
HEDDLE_ABI(PluginAttributesArgs, 32, attributes, 16, attributes_count, 24);
HEDDLE_ABI(EventDestroyArgs, 24, event, 16);
HEDDLE_ABI(EventIsReadyArgs, 32, event, 16, is_ready, 24);
HEDDLE_ABI(EventErrorArgs, 24, event, 16);
HEDDLE_ABI(EventAwaitArgs, 24, event, 16);
HEDDLE_ABI(EventOnReadyArgs, 40, event, 16, callback, 24, user_arg, 32);
HEDDLE_ABI(KeyValueGetArgs, 80, key, 16, key_size, 24, timeout_in_ms, 32, callback_error, 40,
           user_arg, 48, value, 56, value_size, 64, value_deleter, 72);
HEDDLE_ABI(KeyValueTryGetArgs, 72, key, 16, key_size, 24, callback_error, 32, user_arg, 40, value,
           48, value_size, 56, value_deleter, 64);
HEDDLE_ABI(KeyValuePutArgs, 64, key, 16, key_size, 24, value, 32, value_size, 40, callback_error,
           48, user_arg, 56);
HEDDLE_ABI(ClientCreateArgs, 88, create_options, 16, options_count, 24, kv_get_callback, 32,
           kv_get_user_arg, 40, kv_put_callback, 48, kv_put_user_arg, 56, client, 64,
           kv_try_get_callback, 72, kv_try_get_user_arg, 80);
HEDDLE_ABI(ClientDestroyArgs, 24, client, 16);
HEDDLE_ABI(ClientPlatformNameArgs, 40, client, 16, platform_name, 24, platform_name_size, 32);
HEDDLE_ABI(ClientPlatformVersionArgs, 40, client, 16, platform_version, 24, platform_version_size,
           32);
HEDDLE_ABI(ClientProcessIndexArgs, 32, client, 16, process_index, 24);
HEDDLE_ABI(ClientDevicesArgs, 40, client, 16, devices, 24, devices_count, 32);
HEDDLE_ABI(ClientAddressableDevicesArgs, 40, client, 16, addressable_devices, 24,
           addressable_devices_count, 32);
HEDDLE_ABI(ClientLookupDeviceArgs, 40, client, 16, id, 24, device, 32);
HEDDLE_ABI(ClientLookupAddressableDeviceArgs, 40, client, 16, local_hardware_id, 24,
           addressable_device, 32);
HEDDLE_ABI(ClientAddressableMemoriesArgs, 40, client, 16, addressable_memories, 24,
           addressable_memories_count, 32);
HEDDLE_ABI(ClientDefaultDeviceAssignmentArgs, 48, client, 16, replicas_count, 24, partitions_count,
           28, default_assignment_size, 32, default_assignment, 40);
HEDDLE_ABI(DeviceDescriptionIdArgs, 32, device_description, 16, id, 24);
HEDDLE_ABI(DeviceDescriptionProcessIndexArgs, 32, device_description, 16, process_index, 24);
HEDDLE_ABI(DeviceDescriptionKindArgs, 40, device_description, 16, device_kind, 24, device_kind_size,
           32);
HEDDLE_ABI(DeviceDescriptionDebugStringArgs, 40, device_description, 16, debug_string, 24,
           debug_string_size, 32);
HEDDLE_ABI(DeviceDescriptionToStringArgs, 40, device_description, 16, to_string, 24, to_string_size,
           32);
HEDDLE_ABI(DeviceGetDescriptionArgs, 32, device, 16, device_description, 24);
HEDDLE_ABI(DeviceIsAddressableArgs, 32, device, 16, is_addressable, 24);
HEDDLE_ABI(DeviceLocalHardwareIdArgs, 32, device, 16, local_hardware_id, 24);
HEDDLE_ABI(DeviceDefaultMemoryArgs, 32, device, 16, memory, 24);
HEDDLE_ABI(DeviceMemoryStatsArgs, 208, device, 16, bytes_in_use, 24, peak_bytes_in_use, 32,
           peak_bytes_in_use_is_set, 40, allocs_count, 48, allocs_is_set_count, 56,
           largest_alloc_size, 64, largest_alloc_size_is_set, 72, bytes_limit, 80,
           bytes_limit_is_set, 88, bytes_reserved, 96, bytes_reserved_is_set, 104,
           peak_bytes_reserved, 112, peak_bytes_reserved_is_set, 120, bytes_reservable_limit, 128,
           bytes_reservable_limit_is_set, 136, largest_free_block_bytes, 144,
           largest_free_block_bytes_is_set, 152, pool_bytes, 160, pool_bytes_is_set, 168,
           peak_pool_bytes, 176, peak_pool_bytes_is_set, 184, peak_allocated_bytes, 192,
           peak_allocated_bytes_is_set, 200);
HEDDLE_ABI(MemoryIdArgs, 32, memory, 16, id, 24);
HEDDLE_ABI(MemoryKindArgs, 40, memory, 16, kind, 24, kind_size, 32);
HEDDLE_ABI(ClientCompileArgs, 56, client, 16, program, 24, compile_options, 32,
           compile_options_size, 40, executable, 48);
HEDDLE_ABI(ExecutableDestroyArgs, 24, executable, 16);
HEDDLE_ABI(ExecutableNameArgs, 40, executable, 16, executable_name, 24, executable_name_size, 32);
HEDDLE_ABI(ExecutableNumOutputsArgs, 32, executable, 16, outputs_count, 24);
HEDDLE_ABI(ExecutableSizeOfGeneratedCodeInBytesArgs, 32, executable, 16, size_in_bytes, 24);
HEDDLE_ABI(ExecutableOutputElementTypesArgs, 40, executable, 16, output_types, 24,
           output_types_count, 32);
HEDDLE_ABI(ExecutableOutputDimensionsArgs, 48, executable, 16, outputs_count, 24, dims, 32,
           dim_sizes, 40);
HEDDLE_ABI(ExecutableGetCostAnalysisArgs, 40, executable, 16, properties_count, 24, properties, 32);
HEDDLE_ABI(ExecutableOptimizedProgramArgs, 32, executable, 16, program, 24);
HEDDLE_ABI(ExecutableSerializeArgs, 56, executable, 16, serialized_bytes, 24, serialized_bytes_size,
           32, serialized_executable, 40, serialized_executable_deleter, 48);
HEDDLE_ABI(ExecutableDeserializeAndLoadArgs, 72, client, 16, serialized_executable, 24,
           serialized_executable_size, 32, loaded_executable, 40,
           overridden_serialized_compile_options, 48, overridden_serialized_compile_options_size,
           56, load_options, 64);
HEDDLE_ABI(LoadedExecutableDestroyArgs, 24, executable, 16);
HEDDLE_ABI(LoadedExecutableGetExecutableArgs, 32, loaded_executable, 16, executable, 24);
HEDDLE_ABI(LoadedExecutableAddressableDevicesArgs, 40, executable, 16, addressable_devices, 24,
           addressable_devices_count, 32);
HEDDLE_ABI(ExecuteOptions, 144, send_callbacks, 16, recv_callbacks, 24, send_ops_count, 32,
           recv_ops_count, 40, launch_id, 48, non_donatable_input_indices, 56,
           non_donatable_input_indices_count, 64, context, 72, call_location, 80, tasks_count, 88,
           task_ids, 96, incarnation_ids, 104, multi_slice_config, 112,
           use_major_to_minor_data_layout_for_callbacks, 120, hlo_output_callbacks, 128,
           hlo_output_callbacks_count, 136);
HEDDLE_ABI(LoadedExecutableExecuteArgs, 80, executable, 16, options, 24, argument_lists, 32,
           devices_count, 40, args_count, 48, output_lists, 56, device_complete_events, 64,
           execute_device, 72);
HEDDLE_ABI(ClientBufferFromHostBufferArgs, 120, client, 16, data, 24, type, 32, dims, 40,
           dims_count, 48, byte_strides, 56, byte_strides_count, 64, host_buffer_semantics, 72,
           device, 80, memory, 88, device_layout, 96, done_with_host_buffer, 104, buffer, 112);
HEDDLE_ABI(ClientCreateUninitializedBufferArgs, 80, client, 16, shape_dims, 24, shape_num_dims, 32,
           shape_element_type, 40, shape_layout, 48, device, 56, memory, 64, buffer, 72);
HEDDLE_ABI(BufferDestroyArgs, 24, buffer, 16);
HEDDLE_ABI(BufferElementTypeArgs, 32, buffer, 16, type, 24);
HEDDLE_ABI(BufferDimensionsArgs, 40, buffer, 16, dims, 24, dims_count, 32);
HEDDLE_ABI(BufferToHostBufferArgs, 56, src, 16, host_layout, 24, dst, 32, dst_size, 40, event, 48);
HEDDLE_ABI(BufferOnDeviceSizeInBytesArgs, 32, buffer, 16, on_device_size_in_bytes, 24);
HEDDLE_ABI(BufferDeleteArgs, 24, buffer, 16);
HEDDLE_ABI(BufferIsDeletedArgs, 32, buffer, 16, is_deleted, 24);
HEDDLE_ABI(BufferCopyToDeviceArgs, 40, buffer, 16, dst_device, 24, dst_buffer, 32);
HEDDLE_ABI(BufferIsOnCpuArgs, 32, buffer, 16, is_on_cpu, 24);
HEDDLE_ABI(BufferReadyEventArgs, 32, buffer, 16, event, 24);
HEDDLE_ABI(BufferUnsafePointerArgs, 32, buffer, 16, buffer_pointer, 24);
HEDDLE_ABI(BufferIncreaseExternalReferenceCountArgs, 24, buffer, 16);
HEDDLE_ABI(BufferDecreaseExternalReferenceCountArgs, 24, buffer, 16);
HEDDLE_ABI(BufferOpaqueDeviceMemoryDataPointerArgs, 32, buffer, 16, device_memory_ptr, 24);
HEDDLE_ABI(ClientCreateViewOfDeviceBufferArgs, 112, client, 16, device_buffer_ptr, 24, dims, 32,
           dims_count, 40, element_type, 48, layout, 56, device, 64, on_delete_callback, 72,
           on_delete_callback_arg, 80, stream, 88, buffer, 96, memory, 104);
HEDDLE_ABI(BufferDynamicDimensionIndicesArgs, 40, buffer, 16, dynamic_dim_indices, 24,
           dynamic_dim_indices_count, 32);
HEDDLE_ABI(BufferCopyRawToHostArgs, 56, buffer, 16, dst, 24, offset, 32, transfer_size, 40, event,
           48);
HEDDLE_ABI(BufferCopyToMemoryArgs, 40, buffer, 16, dst_memory, 24, dst_buffer, 32);
HEDDLE_ABI(ClientCreateAliasBufferArgs, 80, client, 16, memory, 24, shape_dims, 32, shape_num_dims,
           40, shape_element_type, 48, shape_layout, 56, alias_buffer, 64, fulfill_alias_buffer_cb,
           72);
HEDDLE_ABI(ClientFulfillAliasBufferArgs, 64, client, 16, buffer, 24, status_code, 32, error_message,
           40, error_message_size, 48, fulfill_alias_buffer_cb, 56);
HEDDLE_ABI(LoadedExecutableGetDeviceAssignmentArgs, 56, executable, 16, serialized_bytes, 24,
           serialized_bytes_size, 32, serialized_device_assignment, 40, deleter, 48);
HEDDLE_ABI(ExecuteContextCreateArgs, 24, context, 16);
HEDDLE_ABI(ExecuteContextDestroyArgs, 24, context, 16);
HEDDLE_ABI(ExecutableFingerprintArgs, 40, executable, 16, executable_fingerprint, 24,
           executable_fingerprint_size, 32);
HEDDLE_ABI(ClientCreateErrorBufferArgs, 112, client, 16, error_code, 24, error_message, 32,
           error_message_size, 40, shape_dims, 48, shape_num_dims, 56, shape_element_type, 64,
           shape_layout, 72, memory, 80, buffer, 88, payload, 96, payload_count, 104);
HEDDLE_ABI(BufferBitcastArgs, 64, buffer, 16, element_type, 24, dims, 32, dims_count, 40,
           device_layout, 48, out_buffer, 56);
HEDDLE_ABI(ClientDmaMapArgs, 40, client, 16, data, 24, size, 32);
HEDDLE_ABI(ClientDmaUnmapArgs, 32, client, 16, data, 24);
HEDDLE_ABI(EventCreateArgs, 24, event, 16);
HEDDLE_ABI(EventSetArgs, 48, event, 16, error_code, 24, error_message, 32, error_message_size, 40);
HEDDLE_ABI(ShapeSpec, 40, dims, 16, dims_count, 24, element_type, 32);
HEDDLE_ABI(ClientCreateBuffersForAsyncHostToDeviceArgs, 72, client, 16, shape_specs, 24,
           shape_specs_count, 32, device_layouts, 40, device_layouts_count, 48, memory, 56,
           transfer_manager, 64);
HEDDLE_ABI(AsyncHostToDeviceTransferManagerDestroyArgs, 24, transfer_manager, 16);
HEDDLE_ABI(AsyncHostToDeviceTransferManagerTransferDataArgs, 72, transfer_manager, 16, buffer_index,
           24, data, 32, offset, 40, transfer_size, 48, is_last_transfer, 56,
           done_with_h2d_transfer, 64);
HEDDLE_ABI(AsyncHostToDeviceTransferManagerRetrieveBufferArgs, 40, transfer_manager, 16,
           buffer_index, 24, buffer_out, 32);
HEDDLE_ABI(AsyncHostToDeviceTransferManagerSetBufferErrorArgs, 48, transfer_manager, 16,
           buffer_index, 24, error_code, 28, error_message, 32, error_message_size, 40);
HEDDLE_ABI(DeviceDescriptionMemoryDescriptionsArgs, 48, device_description, 16, memory_descriptions,
           24, memory_descriptions_count, 32, default_memory_index, 40);
HEDDLE_ABI(MemoryDescriptionKindArgs, 48, memory_description, 16, kind, 24, kind_size, 32, kind_id,
           40);
HEDDLE_ABI(MemoryDescriptionsExtension, 40, memory_descriptions, 24, kind, 32);
HEDDLE_ABI(LayoutsMemoryLayoutDestroyArgs, 24, layout, 16);
HEDDLE_ABI(LayoutsMemoryLayoutSerializeArgs, 56, layout, 16, serialized_bytes, 24,
           serialized_bytes_size, 32, serialized_layout, 40, deleter, 48);
HEDDLE_ABI(LayoutsBufferMemoryLayoutArgs, 32, buffer, 16, layout, 24);
HEDDLE_ABI(LayoutsExtension, sizeof(LayoutsExtension), destroy, 24, serialize, 32,
           client_default_layout, 40, buffer_memory_layout, 48);
HEDDLE_ABI(FfiRegisterHandlerArgs, 56, target_name, 8, target_name_size, 16, handler, 24,
           platform_name, 32, platform_name_size, 40, traits, 48);
HEDDLE_ABI(FfiExtension, 48, type_register, 24, user_data_add, 32, register_handler, 40);
HEDDLE_ABI(FfiErrorCreateArgs, 32, message, 16, code, 24);
HEDDLE_ABI(FfiApi, sizeof(FfiApi), version, 16, internal, 40, error_create, 48);
HEDDLE_ABI(FfiBuffer, 48, type, 16, data, 24, rank, 32, dims, 40);
HEDDLE_ABI(FfiText, 16);
HEDDLE_ABI(FfiBuffers, 40, count, 16, types, 24, buffers, 32);
HEDDLE_ABI(FfiAttributes, 48, count, 16, types, 24, names, 32, values, 40);
HEDDLE_ABI(FfiFrame, 168, api, 16, context, 24, stage, 32, arguments, 40, results, 80, attributes,
           120);
HEDDLE_ABI(FfiMetadata, sizeof(FfiMetadata), version, 8, traits, 32);
HEDDLE_ABI(FfiMetadataExtension, 32, metadata, 24);

// Rows of the table that later ones were appended to.
static_assert(static_cast<int>(Slot::kErrorDestroy) == 0);
static_assert(static_cast<int>(Slot::kClientCompile) == 20);
static_assert(static_cast<int>(Slot::kLoadedExecutableExecute) == 55);
static_assert(static_cast<int>(Slot::kBufferToHostBuffer) == 70);
static_assert(static_cast<int>(Slot::kClientTopologyDescription) == 95);
static_assert(static_cast<int>(Slot::kLoadedExecutableGetDeviceAssignment) == 117);
static_assert(static_cast<int>(Slot::kTopologyDescriptionGetMemorySpaceKindIds) == kSlotCount - 1);

}  // namespace
}  // namespace heddle::pjrt::abi
