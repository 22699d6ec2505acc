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

// Macros, since offsetof() takes the name of a member.
#define ABI(type, ...)  \
  static_assert([] {    \
    using Type = type;  \
    return __VA_ARGS__; \
  }())
#define SIZE(bytes) (sizeof(Type) == (bytes))
#define AT(member, byte) (offsetof(Type, member) == (byte))

ABI(Head, SIZE(16) && AT(struct_size, 0) && AT(extensions, 8));
ABI(Extension, SIZE(24) && AT(type, 8) && AT(next, 16));
ABI(Version, SIZE(24) && AT(major, 16) && AT(minor, 20));
ABI(Table, SIZE(1144) && AT(version, 16) && AT(rows, 40));
ABI(NamedValue, SIZE(56) && AT(name, 16) && AT(name_size, 24) && AT(type, 32) && AT(value, 40) &&
                    AT(value_size, 48));
ABI(Program,
    SIZE(48) && AT(code, 16) && AT(code_size, 24) && AT(format, 32) && AT(format_size, 40));
ABI(TiledLayout, SIZE(56) && AT(minor_to_major, 16) && AT(minor_to_major_size, 24) &&
                     AT(tile_dims, 32) && AT(tile_dim_sizes, 40) && AT(tile_count, 48));
ABI(StridesLayout, SIZE(32) && AT(byte_strides, 16) && AT(byte_stride_count, 24));
ABI(MemoryLayout, SIZE(80) && AT(layout, 16) && AT(type, 72));
ABI(PluginInitializeArgs, SIZE(16));
ABI(ErrorDestroyArgs, SIZE(24) && AT(error, 16));
ABI(ErrorMessageArgs, SIZE(40) && AT(error, 16) && AT(message, 24) && AT(message_size, 32));
ABI(ErrorGetCodeArgs, SIZE(32) && AT(error, 16) && AT(code, 24));
ABI(PluginAttributesArgs, SIZE(32) && AT(attributes, 16) && AT(attributes_count, 24));
ABI(EventDestroyArgs, SIZE(24) && AT(event, 16));
ABI(EventIsReadyArgs, SIZE(32) && AT(event, 16) && AT(is_ready, 24));
ABI(EventErrorArgs, SIZE(24) && AT(event, 16));
ABI(EventAwaitArgs, SIZE(24) && AT(event, 16));
ABI(EventOnReadyArgs, SIZE(40) && AT(event, 16) && AT(callback, 24) && AT(user_arg, 32));
ABI(KeyValueGetArgs, SIZE(80) && AT(key, 16) && AT(key_size, 24) && AT(timeout_in_ms, 32) &&
                         AT(callback_error, 40) && AT(user_arg, 48) && AT(value, 56) &&
                         AT(value_size, 64) && AT(value_deleter, 72));
ABI(KeyValueTryGetArgs, SIZE(72) && AT(key, 16) && AT(key_size, 24) && AT(callback_error, 32) &&
                            AT(user_arg, 40) && AT(value, 48) && AT(value_size, 56) &&
                            AT(value_deleter, 64));
ABI(KeyValuePutArgs, SIZE(64) && AT(key, 16) && AT(key_size, 24) && AT(value, 32) &&
                         AT(value_size, 40) && AT(callback_error, 48) && AT(user_arg, 56));
ABI(ClientCreateArgs, SIZE(88) && AT(create_options, 16) && AT(options_count, 24) &&
                          AT(kv_get_callback, 32) && AT(kv_get_user_arg, 40) &&
                          AT(kv_put_callback, 48) && AT(kv_put_user_arg, 56) && AT(client, 64) &&
                          AT(kv_try_get_callback, 72) && AT(kv_try_get_user_arg, 80));
ABI(ClientDestroyArgs, SIZE(24) && AT(client, 16));
ABI(ClientPlatformNameArgs,
    SIZE(40) && AT(client, 16) && AT(platform_name, 24) && AT(platform_name_size, 32));
ABI(ClientPlatformVersionArgs,
    SIZE(40) && AT(client, 16) && AT(platform_version, 24) && AT(platform_version_size, 32));
ABI(ClientProcessIndexArgs, SIZE(32) && AT(client, 16) && AT(process_index, 24));
ABI(ClientDevicesArgs, SIZE(40) && AT(client, 16) && AT(devices, 24) && AT(devices_count, 32));
ABI(ClientAddressableDevicesArgs,
    SIZE(40) && AT(client, 16) && AT(addressable_devices, 24) && AT(addressable_devices_count, 32));
ABI(ClientLookupDeviceArgs, SIZE(40) && AT(client, 16) && AT(id, 24) && AT(device, 32));
ABI(ClientLookupAddressableDeviceArgs,
    SIZE(40) && AT(client, 16) && AT(local_hardware_id, 24) && AT(addressable_device, 32));
ABI(ClientAddressableMemoriesArgs, SIZE(40) && AT(client, 16) && AT(addressable_memories, 24) &&
                                       AT(addressable_memories_count, 32));
ABI(ClientDefaultDeviceAssignmentArgs,
    SIZE(48) && AT(client, 16) && AT(replicas_count, 24) && AT(partitions_count, 28) &&
        AT(default_assignment_size, 32) && AT(default_assignment, 40));
ABI(DeviceDescriptionIdArgs, SIZE(32) && AT(device_description, 16) && AT(id, 24));
ABI(DeviceDescriptionProcessIndexArgs,
    SIZE(32) && AT(device_description, 16) && AT(process_index, 24));
ABI(DeviceDescriptionKindArgs,
    SIZE(40) && AT(device_description, 16) && AT(device_kind, 24) && AT(device_kind_size, 32));
ABI(DeviceDescriptionDebugStringArgs,
    SIZE(40) && AT(device_description, 16) && AT(debug_string, 24) && AT(debug_string_size, 32));
ABI(DeviceDescriptionToStringArgs,
    SIZE(40) && AT(device_description, 16) && AT(to_string, 24) && AT(to_string_size, 32));
ABI(DeviceGetDescriptionArgs, SIZE(32) && AT(device, 16) && AT(device_description, 24));
ABI(DeviceIsAddressableArgs, SIZE(32) && AT(device, 16) && AT(is_addressable, 24));
ABI(DeviceLocalHardwareIdArgs, SIZE(32) && AT(device, 16) && AT(local_hardware_id, 24));
ABI(DeviceDefaultMemoryArgs, SIZE(32) && AT(device, 16) && AT(memory, 24));
ABI(DeviceMemoryStatsArgs,
    SIZE(208) && AT(device, 16) && AT(bytes_in_use, 24) && AT(peak_bytes_in_use, 32) &&
        AT(peak_bytes_in_use_is_set, 40) && AT(allocs_count, 48) && AT(allocs_is_set_count, 56) &&
        AT(largest_alloc_size, 64) && AT(largest_alloc_size_is_set, 72) && AT(bytes_limit, 80) &&
        AT(bytes_limit_is_set, 88) && AT(bytes_reserved, 96) && AT(bytes_reserved_is_set, 104) &&
        AT(peak_bytes_reserved, 112) && AT(peak_bytes_reserved_is_set, 120) &&
        AT(bytes_reservable_limit, 128) && AT(bytes_reservable_limit_is_set, 136) &&
        AT(largest_free_block_bytes, 144) && AT(largest_free_block_bytes_is_set, 152) &&
        AT(pool_bytes, 160) && AT(pool_bytes_is_set, 168) && AT(peak_pool_bytes, 176) &&
        AT(peak_pool_bytes_is_set, 184) && AT(peak_allocated_bytes, 192) &&
        AT(peak_allocated_bytes_is_set, 200));
ABI(MemoryIdArgs, SIZE(32) && AT(memory, 16) && AT(id, 24));
ABI(MemoryKindArgs, SIZE(40) && AT(memory, 16) && AT(kind, 24) && AT(kind_size, 32));
ABI(ClientCompileArgs, SIZE(56) && AT(client, 16) && AT(program, 24) && AT(compile_options, 32) &&
                           AT(compile_options_size, 40) && AT(executable, 48));
ABI(ExecutableDestroyArgs, SIZE(24) && AT(executable, 16));
ABI(ExecutableNameArgs,
    SIZE(40) && AT(executable, 16) && AT(executable_name, 24) && AT(executable_name_size, 32));
ABI(ExecutableNumOutputsArgs, SIZE(32) && AT(executable, 16) && AT(outputs_count, 24));
ABI(ExecutableSizeOfGeneratedCodeInBytesArgs,
    SIZE(32) && AT(executable, 16) && AT(size_in_bytes, 24));
ABI(ExecutableOutputElementTypesArgs,
    SIZE(40) && AT(executable, 16) && AT(output_types, 24) && AT(output_types_count, 32));
ABI(ExecutableOutputDimensionsArgs,
    SIZE(48) && AT(executable, 16) && AT(outputs_count, 24) && AT(dims, 32) && AT(dim_sizes, 40));
ABI(ExecutableGetCostAnalysisArgs,
    SIZE(40) && AT(executable, 16) && AT(properties_count, 24) && AT(properties, 32));
ABI(ExecutableGetCompiledMemoryStatsArgs,
    SIZE(144) && AT(executable, 16) && AT(generated_code_size_in_bytes, 24) &&
        AT(argument_size_in_bytes, 32) && AT(output_size_in_bytes, 40) &&
        AT(alias_size_in_bytes, 48) && AT(temp_size_in_bytes, 56) &&
        AT(host_generated_code_size_in_bytes, 64) && AT(host_argument_size_in_bytes, 72) &&
        AT(host_output_size_in_bytes, 80) && AT(host_alias_size_in_bytes, 88) &&
        AT(host_temp_size_in_bytes, 96) && AT(peak_memory_in_bytes, 104) &&
        AT(total_size_in_bytes, 112) && AT(total_allocation_bytes, 120) &&
        AT(indefinite_allocations, 128) && AT(peak_unpadded_heap_bytes, 136));
ABI(ExecutableOptimizedProgramArgs, SIZE(32) && AT(executable, 16) && AT(program, 24));
ABI(ExecutableSerializeArgs, SIZE(56) && AT(executable, 16) && AT(serialized_bytes, 24) &&
                                 AT(serialized_bytes_size, 32) && AT(serialized_executable, 40) &&
                                 AT(serialized_executable_deleter, 48));
ABI(ExecutableDeserializeAndLoadArgs,
    SIZE(72) && AT(client, 16) && AT(serialized_executable, 24) &&
        AT(serialized_executable_size, 32) && AT(loaded_executable, 40) &&
        AT(overridden_serialized_compile_options, 48) &&
        AT(overridden_serialized_compile_options_size, 56) && AT(load_options, 64));
ABI(LoadedExecutableDestroyArgs, SIZE(24) && AT(executable, 16));
ABI(LoadedExecutableGetExecutableArgs, SIZE(32) && AT(loaded_executable, 16) && AT(executable, 24));
ABI(LoadedExecutableAddressableDevicesArgs, SIZE(40) && AT(executable, 16) &&
                                                AT(addressable_devices, 24) &&
                                                AT(addressable_devices_count, 32));
ABI(ExecuteOptions,
    SIZE(144) && AT(send_callbacks, 16) && AT(recv_callbacks, 24) && AT(send_ops_count, 32) &&
        AT(recv_ops_count, 40) && AT(launch_id, 48) && AT(non_donatable_input_indices, 56) &&
        AT(non_donatable_input_indices_count, 64) && AT(context, 72) && AT(call_location, 80) &&
        AT(tasks_count, 88) && AT(task_ids, 96) && AT(incarnation_ids, 104) &&
        AT(multi_slice_config, 112) && AT(use_major_to_minor_data_layout_for_callbacks, 120) &&
        AT(hlo_output_callbacks, 128) && AT(hlo_output_callbacks_count, 136));
ABI(LoadedExecutableExecuteArgs, SIZE(80) && AT(executable, 16) && AT(options, 24) &&
                                     AT(argument_lists, 32) && AT(devices_count, 40) &&
                                     AT(args_count, 48) && AT(output_lists, 56) &&
                                     AT(device_complete_events, 64) && AT(execute_device, 72));
ABI(ClientBufferFromHostBufferArgs,
    SIZE(120) && AT(client, 16) && AT(data, 24) && AT(type, 32) && AT(dims, 40) &&
        AT(dims_count, 48) && AT(byte_strides, 56) && AT(byte_strides_count, 64) &&
        AT(host_buffer_semantics, 72) && AT(device, 80) && AT(memory, 88) &&
        AT(device_layout, 96) && AT(done_with_host_buffer, 104) && AT(buffer, 112));
ABI(ClientCreateUninitializedBufferArgs, SIZE(80) && AT(client, 16) && AT(shape_dims, 24) &&
                                             AT(shape_num_dims, 32) && AT(shape_element_type, 40) &&
                                             AT(shape_layout, 48) && AT(device, 56) &&
                                             AT(memory, 64) && AT(buffer, 72));
ABI(BufferDestroyArgs, SIZE(24) && AT(buffer, 16));
ABI(BufferElementTypeArgs, SIZE(32) && AT(buffer, 16) && AT(type, 24));
ABI(BufferDimensionsArgs, SIZE(40) && AT(buffer, 16) && AT(dims, 24) && AT(dims_count, 32));
ABI(BufferToHostBufferArgs, SIZE(56) && AT(src, 16) && AT(host_layout, 24) && AT(dst, 32) &&
                                AT(dst_size, 40) && AT(event, 48));
ABI(BufferOnDeviceSizeInBytesArgs, SIZE(32) && AT(buffer, 16) && AT(on_device_size_in_bytes, 24));
ABI(BufferDeleteArgs, SIZE(24) && AT(buffer, 16));
ABI(BufferIsDeletedArgs, SIZE(32) && AT(buffer, 16) && AT(is_deleted, 24));
ABI(BufferCopyToDeviceArgs, SIZE(40) && AT(buffer, 16) && AT(dst_device, 24) && AT(dst_buffer, 32));
ABI(BufferIsOnCpuArgs, SIZE(32) && AT(buffer, 16) && AT(is_on_cpu, 24));
ABI(BufferReadyEventArgs, SIZE(32) && AT(buffer, 16) && AT(event, 24));
ABI(BufferUnsafePointerArgs, SIZE(32) && AT(buffer, 16) && AT(buffer_pointer, 24));
ABI(BufferIncreaseExternalReferenceCountArgs, SIZE(24) && AT(buffer, 16));
ABI(BufferDecreaseExternalReferenceCountArgs, SIZE(24) && AT(buffer, 16));
ABI(BufferOpaqueDeviceMemoryDataPointerArgs,
    SIZE(32) && AT(buffer, 16) && AT(device_memory_ptr, 24));
ABI(ClientCreateViewOfDeviceBufferArgs,
    SIZE(112) && AT(client, 16) && AT(device_buffer_ptr, 24) && AT(dims, 32) &&
        AT(dims_count, 40) && AT(element_type, 48) && AT(layout, 56) && AT(device, 64) &&
        AT(on_delete_callback, 72) && AT(on_delete_callback_arg, 80) && AT(stream, 88) &&
        AT(buffer, 96) && AT(memory, 104));
ABI(BufferDynamicDimensionIndicesArgs,
    SIZE(40) && AT(buffer, 16) && AT(dynamic_dim_indices, 24) && AT(dynamic_dim_indices_count, 32));
ABI(BufferCopyRawToHostArgs, SIZE(56) && AT(buffer, 16) && AT(dst, 24) && AT(offset, 32) &&
                                 AT(transfer_size, 40) && AT(event, 48));
ABI(BufferCopyToMemoryArgs, SIZE(40) && AT(buffer, 16) && AT(dst_memory, 24) && AT(dst_buffer, 32));
ABI(ClientCreateAliasBufferArgs, SIZE(80) && AT(client, 16) && AT(memory, 24) &&
                                     AT(shape_dims, 32) && AT(shape_num_dims, 40) &&
                                     AT(shape_element_type, 48) && AT(shape_layout, 56) &&
                                     AT(alias_buffer, 64) && AT(fulfill_alias_buffer_cb, 72));
ABI(ClientFulfillAliasBufferArgs,
    SIZE(64) && AT(client, 16) && AT(buffer, 24) && AT(status_code, 32) && AT(error_message, 40) &&
        AT(error_message_size, 48) && AT(fulfill_alias_buffer_cb, 56));
ABI(LoadedExecutableGetDeviceAssignmentArgs,
    SIZE(56) && AT(executable, 16) && AT(serialized_bytes, 24) && AT(serialized_bytes_size, 32) &&
        AT(serialized_device_assignment, 40) && AT(deleter, 48));
ABI(ExecuteContextCreateArgs, SIZE(24) && AT(context, 16));
ABI(ExecuteContextDestroyArgs, SIZE(24) && AT(context, 16));
ABI(ExecutableFingerprintArgs, SIZE(40) && AT(executable, 16) && AT(executable_fingerprint, 24) &&
                                   AT(executable_fingerprint_size, 32));
ABI(ClientCreateErrorBufferArgs,
    SIZE(112) && AT(client, 16) && AT(error_code, 24) && AT(error_message, 32) &&
        AT(error_message_size, 40) && AT(shape_dims, 48) && AT(shape_num_dims, 56) &&
        AT(shape_element_type, 64) && AT(shape_layout, 72) && AT(memory, 80) && AT(buffer, 88) &&
        AT(payload, 96) && AT(payload_count, 104));
ABI(BufferBitcastArgs, SIZE(64) && AT(buffer, 16) && AT(element_type, 24) && AT(dims, 32) &&
                           AT(dims_count, 40) && AT(device_layout, 48) && AT(out_buffer, 56));
ABI(ClientDmaMapArgs, SIZE(40) && AT(client, 16) && AT(data, 24) && AT(size, 32));
ABI(ClientDmaUnmapArgs, SIZE(32) && AT(client, 16) && AT(data, 24));
ABI(EventCreateArgs, SIZE(24) && AT(event, 16));
ABI(EventSetArgs, SIZE(48) && AT(event, 16) && AT(error_code, 24) && AT(error_message, 32) &&
                      AT(error_message_size, 40));
ABI(ShapeSpec, SIZE(40) && AT(dims, 16) && AT(dims_count, 24) && AT(element_type, 32));
ABI(ClientCreateBuffersForAsyncHostToDeviceArgs,
    SIZE(72) && AT(client, 16) && AT(shape_specs, 24) && AT(shape_specs_count, 32) &&
        AT(device_layouts, 40) && AT(device_layouts_count, 48) && AT(memory, 56) &&
        AT(transfer_manager, 64));
ABI(AsyncHostToDeviceTransferManagerDestroyArgs, SIZE(24) && AT(transfer_manager, 16));
ABI(AsyncHostToDeviceTransferManagerTransferDataArgs,
    SIZE(72) && AT(transfer_manager, 16) && AT(buffer_index, 24) && AT(data, 32) &&
        AT(offset, 40) && AT(transfer_size, 48) && AT(is_last_transfer, 56) &&
        AT(done_with_h2d_transfer, 64));
ABI(AsyncHostToDeviceTransferManagerRetrieveBufferArgs,
    SIZE(40) && AT(transfer_manager, 16) && AT(buffer_index, 24) && AT(buffer_out, 32));
ABI(AsyncHostToDeviceTransferManagerSetBufferErrorArgs,
    SIZE(48) && AT(transfer_manager, 16) && AT(buffer_index, 24) && AT(error_code, 28) &&
        AT(error_message, 32) && AT(error_message_size, 40));
ABI(DeviceDescriptionMemoryDescriptionsArgs,
    SIZE(48) && AT(device_description, 16) && AT(memory_descriptions, 24) &&
        AT(memory_descriptions_count, 32) && AT(default_memory_index, 40));
ABI(MemoryDescriptionKindArgs,
    SIZE(48) && AT(memory_description, 16) && AT(kind, 24) && AT(kind_size, 32) && AT(kind_id, 40));
ABI(MemoryDescriptionsExtension, SIZE(40) && AT(memory_descriptions, 24) && AT(kind, 32));
ABI(LayoutsMemoryLayoutDestroyArgs, SIZE(24) && AT(layout, 16));
ABI(LayoutsMemoryLayoutSerializeArgs, SIZE(56) && AT(layout, 16) && AT(serialized_bytes, 24) &&
                                          AT(serialized_bytes_size, 32) &&
                                          AT(serialized_layout, 40) && AT(deleter, 48));
ABI(LayoutsBufferMemoryLayoutArgs, SIZE(32) && AT(buffer, 16) && AT(layout, 24));
ABI(LayoutsExtension, AT(destroy, 24) && AT(serialize, 32) && AT(client_default_layout, 40) &&
                          AT(buffer_memory_layout, 48));
ABI(FfiRegisterHandlerArgs, SIZE(56) && AT(target_name, 8) && AT(target_name_size, 16) &&
                                AT(handler, 24) && AT(platform_name, 32) &&
                                AT(platform_name_size, 40) && AT(traits, 48));
ABI(FfiExtension,
    SIZE(48) && AT(type_register, 24) && AT(user_data_add, 32) && AT(register_handler, 40));
ABI(FfiErrorCreateArgs, SIZE(32) && AT(message, 16) && AT(code, 24));
ABI(FfiApi, AT(version, 16) && AT(internal, 40) && AT(error_create, 48));
ABI(FfiBuffer, SIZE(48) && AT(type, 16) && AT(data, 24) && AT(rank, 32) && AT(dims, 40));
ABI(FfiText, SIZE(16));
ABI(FfiBuffers, SIZE(40) && AT(count, 16) && AT(types, 24) && AT(buffers, 32));
ABI(FfiAttributes, SIZE(48) && AT(count, 16) && AT(types, 24) && AT(names, 32) && AT(values, 40));
ABI(FfiFrame, SIZE(168) && AT(api, 16) && AT(context, 24) && AT(stage, 32) && AT(arguments, 40) &&
                  AT(results, 80) && AT(attributes, 120));
ABI(FfiMetadata, AT(version, 8) && AT(traits, 32));
ABI(FfiMetadataExtension, SIZE(32) && AT(metadata, 24));

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
