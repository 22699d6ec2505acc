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
#define HEDDLE_ABI(type, ...) \
  static_assert([] {          \
    using Type = type;        \
    return __VA_ARGS__;       \
  }())
#define HEDDLE_ABI_SIZE(bytes) (sizeof(Type) == (bytes))
#define HEDDLE_ABI_AT(member, byte) (offsetof(Type, member) == (byte))

HEDDLE_ABI(Head,
           HEDDLE_ABI_SIZE(16) && HEDDLE_ABI_AT(struct_size, 0) && HEDDLE_ABI_AT(extensions, 8));
HEDDLE_ABI(Extension, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(type, 8) && HEDDLE_ABI_AT(next, 16));
HEDDLE_ABI(Version, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(major, 16) && HEDDLE_ABI_AT(minor, 20));
HEDDLE_ABI(Table, HEDDLE_ABI_SIZE(1144) && HEDDLE_ABI_AT(version, 16) && HEDDLE_ABI_AT(rows, 40));
HEDDLE_ABI(NamedValue, HEDDLE_ABI_SIZE(56) && HEDDLE_ABI_AT(name, 16) &&
                           HEDDLE_ABI_AT(name_size, 24) && HEDDLE_ABI_AT(type, 32) &&
                           HEDDLE_ABI_AT(value, 40) && HEDDLE_ABI_AT(value_size, 48));
HEDDLE_ABI(Program, HEDDLE_ABI_SIZE(48) && HEDDLE_ABI_AT(code, 16) &&
                        HEDDLE_ABI_AT(code_size, 24) && HEDDLE_ABI_AT(format, 32) &&
                        HEDDLE_ABI_AT(format_size, 40));
HEDDLE_ABI(TiledLayout, HEDDLE_ABI_SIZE(56) && HEDDLE_ABI_AT(minor_to_major, 16) &&
                            HEDDLE_ABI_AT(minor_to_major_size, 24) &&
                            HEDDLE_ABI_AT(tile_dims, 32) && HEDDLE_ABI_AT(tile_dim_sizes, 40) &&
                            HEDDLE_ABI_AT(tile_count, 48));
HEDDLE_ABI(StridesLayout, HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(byte_strides, 16) &&
                              HEDDLE_ABI_AT(byte_stride_count, 24));
HEDDLE_ABI(MemoryLayout,
           HEDDLE_ABI_SIZE(80) && HEDDLE_ABI_AT(layout, 16) && HEDDLE_ABI_AT(type, 72));
HEDDLE_ABI(PluginInitializeArgs, HEDDLE_ABI_SIZE(16));
HEDDLE_ABI(ErrorDestroyArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(error, 16));
HEDDLE_ABI(ErrorMessageArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(error, 16) &&
                                 HEDDLE_ABI_AT(message, 24) && HEDDLE_ABI_AT(message_size, 32));
HEDDLE_ABI(ErrorGetCodeArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(error, 16) && HEDDLE_ABI_AT(code, 24));
HEDDLE_ABI(PluginAttributesArgs, HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(attributes, 16) &&
                                     HEDDLE_ABI_AT(attributes_count, 24));
HEDDLE_ABI(EventDestroyArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(event, 16));
HEDDLE_ABI(EventIsReadyArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(event, 16) && HEDDLE_ABI_AT(is_ready, 24));
HEDDLE_ABI(EventErrorArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(event, 16));
HEDDLE_ABI(EventAwaitArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(event, 16));
HEDDLE_ABI(EventOnReadyArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(event, 16) &&
                                 HEDDLE_ABI_AT(callback, 24) && HEDDLE_ABI_AT(user_arg, 32));
HEDDLE_ABI(KeyValueGetArgs, HEDDLE_ABI_SIZE(80) && HEDDLE_ABI_AT(key, 16) &&
                                HEDDLE_ABI_AT(key_size, 24) && HEDDLE_ABI_AT(timeout_in_ms, 32) &&
                                HEDDLE_ABI_AT(callback_error, 40) && HEDDLE_ABI_AT(user_arg, 48) &&
                                HEDDLE_ABI_AT(value, 56) && HEDDLE_ABI_AT(value_size, 64) &&
                                HEDDLE_ABI_AT(value_deleter, 72));
HEDDLE_ABI(KeyValueTryGetArgs,
           HEDDLE_ABI_SIZE(72) && HEDDLE_ABI_AT(key, 16) && HEDDLE_ABI_AT(key_size, 24) &&
               HEDDLE_ABI_AT(callback_error, 32) && HEDDLE_ABI_AT(user_arg, 40) &&
               HEDDLE_ABI_AT(value, 48) && HEDDLE_ABI_AT(value_size, 56) &&
               HEDDLE_ABI_AT(value_deleter, 64));
HEDDLE_ABI(KeyValuePutArgs, HEDDLE_ABI_SIZE(64) && HEDDLE_ABI_AT(key, 16) &&
                                HEDDLE_ABI_AT(key_size, 24) && HEDDLE_ABI_AT(value, 32) &&
                                HEDDLE_ABI_AT(value_size, 40) &&
                                HEDDLE_ABI_AT(callback_error, 48) && HEDDLE_ABI_AT(user_arg, 56));
HEDDLE_ABI(ClientCreateArgs,
           HEDDLE_ABI_SIZE(88) && HEDDLE_ABI_AT(create_options, 16) &&
               HEDDLE_ABI_AT(options_count, 24) && HEDDLE_ABI_AT(kv_get_callback, 32) &&
               HEDDLE_ABI_AT(kv_get_user_arg, 40) && HEDDLE_ABI_AT(kv_put_callback, 48) &&
               HEDDLE_ABI_AT(kv_put_user_arg, 56) && HEDDLE_ABI_AT(client, 64) &&
               HEDDLE_ABI_AT(kv_try_get_callback, 72) && HEDDLE_ABI_AT(kv_try_get_user_arg, 80));
HEDDLE_ABI(ClientDestroyArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(client, 16));
HEDDLE_ABI(ClientPlatformNameArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(client, 16) &&
                                       HEDDLE_ABI_AT(platform_name, 24) &&
                                       HEDDLE_ABI_AT(platform_name_size, 32));
HEDDLE_ABI(ClientPlatformVersionArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(client, 16) &&
                                          HEDDLE_ABI_AT(platform_version, 24) &&
                                          HEDDLE_ABI_AT(platform_version_size, 32));
HEDDLE_ABI(ClientProcessIndexArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(process_index, 24));
HEDDLE_ABI(ClientDevicesArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(client, 16) &&
                                  HEDDLE_ABI_AT(devices, 24) && HEDDLE_ABI_AT(devices_count, 32));
HEDDLE_ABI(ClientAddressableDevicesArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(client, 16) &&
                                             HEDDLE_ABI_AT(addressable_devices, 24) &&
                                             HEDDLE_ABI_AT(addressable_devices_count, 32));
HEDDLE_ABI(ClientLookupDeviceArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(client, 16) &&
                                       HEDDLE_ABI_AT(id, 24) && HEDDLE_ABI_AT(device, 32));
HEDDLE_ABI(ClientLookupAddressableDeviceArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(client, 16) &&
                                                  HEDDLE_ABI_AT(local_hardware_id, 24) &&
                                                  HEDDLE_ABI_AT(addressable_device, 32));
HEDDLE_ABI(ClientAddressableMemoriesArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(client, 16) &&
                                              HEDDLE_ABI_AT(addressable_memories, 24) &&
                                              HEDDLE_ABI_AT(addressable_memories_count, 32));
HEDDLE_ABI(ClientDefaultDeviceAssignmentArgs,
           HEDDLE_ABI_SIZE(48) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(replicas_count, 24) &&
               HEDDLE_ABI_AT(partitions_count, 28) && HEDDLE_ABI_AT(default_assignment_size, 32) &&
               HEDDLE_ABI_AT(default_assignment, 40));
HEDDLE_ABI(DeviceDescriptionIdArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(device_description, 16) && HEDDLE_ABI_AT(id, 24));
HEDDLE_ABI(DeviceDescriptionProcessIndexArgs, HEDDLE_ABI_SIZE(32) &&
                                                  HEDDLE_ABI_AT(device_description, 16) &&
                                                  HEDDLE_ABI_AT(process_index, 24));
HEDDLE_ABI(DeviceDescriptionKindArgs,
           HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(device_description, 16) &&
               HEDDLE_ABI_AT(device_kind, 24) && HEDDLE_ABI_AT(device_kind_size, 32));
HEDDLE_ABI(DeviceDescriptionDebugStringArgs,
           HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(device_description, 16) &&
               HEDDLE_ABI_AT(debug_string, 24) && HEDDLE_ABI_AT(debug_string_size, 32));
HEDDLE_ABI(DeviceDescriptionToStringArgs,
           HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(device_description, 16) &&
               HEDDLE_ABI_AT(to_string, 24) && HEDDLE_ABI_AT(to_string_size, 32));
HEDDLE_ABI(DeviceGetDescriptionArgs, HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(device, 16) &&
                                         HEDDLE_ABI_AT(device_description, 24));
HEDDLE_ABI(DeviceIsAddressableArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(device, 16) && HEDDLE_ABI_AT(is_addressable, 24));
HEDDLE_ABI(DeviceLocalHardwareIdArgs, HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(device, 16) &&
                                          HEDDLE_ABI_AT(local_hardware_id, 24));
HEDDLE_ABI(DeviceDefaultMemoryArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(device, 16) && HEDDLE_ABI_AT(memory, 24));
HEDDLE_ABI(DeviceMemoryStatsArgs,
           HEDDLE_ABI_SIZE(208) && HEDDLE_ABI_AT(device, 16) && HEDDLE_ABI_AT(bytes_in_use, 24) &&
               HEDDLE_ABI_AT(peak_bytes_in_use, 32) &&
               HEDDLE_ABI_AT(peak_bytes_in_use_is_set, 40) && HEDDLE_ABI_AT(allocs_count, 48) &&
               HEDDLE_ABI_AT(allocs_is_set_count, 56) && HEDDLE_ABI_AT(largest_alloc_size, 64) &&
               HEDDLE_ABI_AT(largest_alloc_size_is_set, 72) && HEDDLE_ABI_AT(bytes_limit, 80) &&
               HEDDLE_ABI_AT(bytes_limit_is_set, 88) && HEDDLE_ABI_AT(bytes_reserved, 96) &&
               HEDDLE_ABI_AT(bytes_reserved_is_set, 104) &&
               HEDDLE_ABI_AT(peak_bytes_reserved, 112) &&
               HEDDLE_ABI_AT(peak_bytes_reserved_is_set, 120) &&
               HEDDLE_ABI_AT(bytes_reservable_limit, 128) &&
               HEDDLE_ABI_AT(bytes_reservable_limit_is_set, 136) &&
               HEDDLE_ABI_AT(largest_free_block_bytes, 144) &&
               HEDDLE_ABI_AT(largest_free_block_bytes_is_set, 152) &&
               HEDDLE_ABI_AT(pool_bytes, 160) && HEDDLE_ABI_AT(pool_bytes_is_set, 168) &&
               HEDDLE_ABI_AT(peak_pool_bytes, 176) && HEDDLE_ABI_AT(peak_pool_bytes_is_set, 184) &&
               HEDDLE_ABI_AT(peak_allocated_bytes, 192) &&
               HEDDLE_ABI_AT(peak_allocated_bytes_is_set, 200));
HEDDLE_ABI(MemoryIdArgs, HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(memory, 16) && HEDDLE_ABI_AT(id, 24));
HEDDLE_ABI(MemoryKindArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(memory, 16) &&
                               HEDDLE_ABI_AT(kind, 24) && HEDDLE_ABI_AT(kind_size, 32));
HEDDLE_ABI(ClientCompileArgs,
           HEDDLE_ABI_SIZE(56) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(program, 24) &&
               HEDDLE_ABI_AT(compile_options, 32) && HEDDLE_ABI_AT(compile_options_size, 40) &&
               HEDDLE_ABI_AT(executable, 48));
HEDDLE_ABI(ExecutableDestroyArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(executable, 16));
HEDDLE_ABI(ExecutableNameArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(executable, 16) &&
                                   HEDDLE_ABI_AT(executable_name, 24) &&
                                   HEDDLE_ABI_AT(executable_name_size, 32));
HEDDLE_ABI(ExecutableNumOutputsArgs, HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(executable, 16) &&
                                         HEDDLE_ABI_AT(outputs_count, 24));
HEDDLE_ABI(ExecutableSizeOfGeneratedCodeInBytesArgs, HEDDLE_ABI_SIZE(32) &&
                                                         HEDDLE_ABI_AT(executable, 16) &&
                                                         HEDDLE_ABI_AT(size_in_bytes, 24));
HEDDLE_ABI(ExecutableOutputElementTypesArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(executable, 16) &&
                                                 HEDDLE_ABI_AT(output_types, 24) &&
                                                 HEDDLE_ABI_AT(output_types_count, 32));
HEDDLE_ABI(ExecutableOutputDimensionsArgs, HEDDLE_ABI_SIZE(48) && HEDDLE_ABI_AT(executable, 16) &&
                                               HEDDLE_ABI_AT(outputs_count, 24) &&
                                               HEDDLE_ABI_AT(dims, 32) &&
                                               HEDDLE_ABI_AT(dim_sizes, 40));
HEDDLE_ABI(ExecutableGetCostAnalysisArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(executable, 16) &&
                                              HEDDLE_ABI_AT(properties_count, 24) &&
                                              HEDDLE_ABI_AT(properties, 32));
HEDDLE_ABI(
    ExecutableGetCompiledMemoryStatsArgs,
    HEDDLE_ABI_SIZE(144) && HEDDLE_ABI_AT(executable, 16) &&
        HEDDLE_ABI_AT(generated_code_size_in_bytes, 24) &&
        HEDDLE_ABI_AT(argument_size_in_bytes, 32) && HEDDLE_ABI_AT(output_size_in_bytes, 40) &&
        HEDDLE_ABI_AT(alias_size_in_bytes, 48) && HEDDLE_ABI_AT(temp_size_in_bytes, 56) &&
        HEDDLE_ABI_AT(host_generated_code_size_in_bytes, 64) &&
        HEDDLE_ABI_AT(host_argument_size_in_bytes, 72) &&
        HEDDLE_ABI_AT(host_output_size_in_bytes, 80) &&
        HEDDLE_ABI_AT(host_alias_size_in_bytes, 88) && HEDDLE_ABI_AT(host_temp_size_in_bytes, 96) &&
        HEDDLE_ABI_AT(peak_memory_in_bytes, 104) && HEDDLE_ABI_AT(total_size_in_bytes, 112) &&
        HEDDLE_ABI_AT(total_allocation_bytes, 120) && HEDDLE_ABI_AT(indefinite_allocations, 128) &&
        HEDDLE_ABI_AT(peak_unpadded_heap_bytes, 136));
HEDDLE_ABI(ExecutableOptimizedProgramArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(executable, 16) && HEDDLE_ABI_AT(program, 24));
HEDDLE_ABI(ExecutableSerializeArgs, HEDDLE_ABI_SIZE(56) && HEDDLE_ABI_AT(executable, 16) &&
                                        HEDDLE_ABI_AT(serialized_bytes, 24) &&
                                        HEDDLE_ABI_AT(serialized_bytes_size, 32) &&
                                        HEDDLE_ABI_AT(serialized_executable, 40) &&
                                        HEDDLE_ABI_AT(serialized_executable_deleter, 48));
HEDDLE_ABI(ExecutableDeserializeAndLoadArgs,
           HEDDLE_ABI_SIZE(72) && HEDDLE_ABI_AT(client, 16) &&
               HEDDLE_ABI_AT(serialized_executable, 24) &&
               HEDDLE_ABI_AT(serialized_executable_size, 32) &&
               HEDDLE_ABI_AT(loaded_executable, 40) &&
               HEDDLE_ABI_AT(overridden_serialized_compile_options, 48) &&
               HEDDLE_ABI_AT(overridden_serialized_compile_options_size, 56) &&
               HEDDLE_ABI_AT(load_options, 64));
HEDDLE_ABI(LoadedExecutableDestroyArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(executable, 16));
HEDDLE_ABI(LoadedExecutableGetExecutableArgs, HEDDLE_ABI_SIZE(32) &&
                                                  HEDDLE_ABI_AT(loaded_executable, 16) &&
                                                  HEDDLE_ABI_AT(executable, 24));
HEDDLE_ABI(LoadedExecutableAddressableDevicesArgs,
           HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(executable, 16) &&
               HEDDLE_ABI_AT(addressable_devices, 24) &&
               HEDDLE_ABI_AT(addressable_devices_count, 32));
HEDDLE_ABI(ExecuteOptions,
           HEDDLE_ABI_SIZE(144) && HEDDLE_ABI_AT(send_callbacks, 16) &&
               HEDDLE_ABI_AT(recv_callbacks, 24) && HEDDLE_ABI_AT(send_ops_count, 32) &&
               HEDDLE_ABI_AT(recv_ops_count, 40) && HEDDLE_ABI_AT(launch_id, 48) &&
               HEDDLE_ABI_AT(non_donatable_input_indices, 56) &&
               HEDDLE_ABI_AT(non_donatable_input_indices_count, 64) && HEDDLE_ABI_AT(context, 72) &&
               HEDDLE_ABI_AT(call_location, 80) && HEDDLE_ABI_AT(tasks_count, 88) &&
               HEDDLE_ABI_AT(task_ids, 96) && HEDDLE_ABI_AT(incarnation_ids, 104) &&
               HEDDLE_ABI_AT(multi_slice_config, 112) &&
               HEDDLE_ABI_AT(use_major_to_minor_data_layout_for_callbacks, 120) &&
               HEDDLE_ABI_AT(hlo_output_callbacks, 128) &&
               HEDDLE_ABI_AT(hlo_output_callbacks_count, 136));
HEDDLE_ABI(LoadedExecutableExecuteArgs,
           HEDDLE_ABI_SIZE(80) && HEDDLE_ABI_AT(executable, 16) && HEDDLE_ABI_AT(options, 24) &&
               HEDDLE_ABI_AT(argument_lists, 32) && HEDDLE_ABI_AT(devices_count, 40) &&
               HEDDLE_ABI_AT(args_count, 48) && HEDDLE_ABI_AT(output_lists, 56) &&
               HEDDLE_ABI_AT(device_complete_events, 64) && HEDDLE_ABI_AT(execute_device, 72));
HEDDLE_ABI(ClientBufferFromHostBufferArgs,
           HEDDLE_ABI_SIZE(120) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(data, 24) &&
               HEDDLE_ABI_AT(type, 32) && HEDDLE_ABI_AT(dims, 40) &&
               HEDDLE_ABI_AT(dims_count, 48) && HEDDLE_ABI_AT(byte_strides, 56) &&
               HEDDLE_ABI_AT(byte_strides_count, 64) && HEDDLE_ABI_AT(host_buffer_semantics, 72) &&
               HEDDLE_ABI_AT(device, 80) && HEDDLE_ABI_AT(memory, 88) &&
               HEDDLE_ABI_AT(device_layout, 96) && HEDDLE_ABI_AT(done_with_host_buffer, 104) &&
               HEDDLE_ABI_AT(buffer, 112));
HEDDLE_ABI(ClientCreateUninitializedBufferArgs,
           HEDDLE_ABI_SIZE(80) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(shape_dims, 24) &&
               HEDDLE_ABI_AT(shape_num_dims, 32) && HEDDLE_ABI_AT(shape_element_type, 40) &&
               HEDDLE_ABI_AT(shape_layout, 48) && HEDDLE_ABI_AT(device, 56) &&
               HEDDLE_ABI_AT(memory, 64) && HEDDLE_ABI_AT(buffer, 72));
HEDDLE_ABI(BufferDestroyArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(buffer, 16));
HEDDLE_ABI(BufferElementTypeArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(buffer, 16) && HEDDLE_ABI_AT(type, 24));
HEDDLE_ABI(BufferDimensionsArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(buffer, 16) &&
                                     HEDDLE_ABI_AT(dims, 24) && HEDDLE_ABI_AT(dims_count, 32));
HEDDLE_ABI(BufferToHostBufferArgs, HEDDLE_ABI_SIZE(56) && HEDDLE_ABI_AT(src, 16) &&
                                       HEDDLE_ABI_AT(host_layout, 24) && HEDDLE_ABI_AT(dst, 32) &&
                                       HEDDLE_ABI_AT(dst_size, 40) && HEDDLE_ABI_AT(event, 48));
HEDDLE_ABI(BufferOnDeviceSizeInBytesArgs, HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(buffer, 16) &&
                                              HEDDLE_ABI_AT(on_device_size_in_bytes, 24));
HEDDLE_ABI(BufferDeleteArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(buffer, 16));
HEDDLE_ABI(BufferIsDeletedArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(buffer, 16) && HEDDLE_ABI_AT(is_deleted, 24));
HEDDLE_ABI(BufferCopyToDeviceArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(buffer, 16) &&
                                       HEDDLE_ABI_AT(dst_device, 24) &&
                                       HEDDLE_ABI_AT(dst_buffer, 32));
HEDDLE_ABI(BufferIsOnCpuArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(buffer, 16) && HEDDLE_ABI_AT(is_on_cpu, 24));
HEDDLE_ABI(BufferReadyEventArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(buffer, 16) && HEDDLE_ABI_AT(event, 24));
HEDDLE_ABI(BufferUnsafePointerArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(buffer, 16) && HEDDLE_ABI_AT(buffer_pointer, 24));
HEDDLE_ABI(BufferIncreaseExternalReferenceCountArgs,
           HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(buffer, 16));
HEDDLE_ABI(BufferDecreaseExternalReferenceCountArgs,
           HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(buffer, 16));
HEDDLE_ABI(BufferOpaqueDeviceMemoryDataPointerArgs, HEDDLE_ABI_SIZE(32) &&
                                                        HEDDLE_ABI_AT(buffer, 16) &&
                                                        HEDDLE_ABI_AT(device_memory_ptr, 24));
HEDDLE_ABI(ClientCreateViewOfDeviceBufferArgs,
           HEDDLE_ABI_SIZE(112) && HEDDLE_ABI_AT(client, 16) &&
               HEDDLE_ABI_AT(device_buffer_ptr, 24) && HEDDLE_ABI_AT(dims, 32) &&
               HEDDLE_ABI_AT(dims_count, 40) && HEDDLE_ABI_AT(element_type, 48) &&
               HEDDLE_ABI_AT(layout, 56) && HEDDLE_ABI_AT(device, 64) &&
               HEDDLE_ABI_AT(on_delete_callback, 72) && HEDDLE_ABI_AT(on_delete_callback_arg, 80) &&
               HEDDLE_ABI_AT(stream, 88) && HEDDLE_ABI_AT(buffer, 96) &&
               HEDDLE_ABI_AT(memory, 104));
HEDDLE_ABI(BufferDynamicDimensionIndicesArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(buffer, 16) &&
                                                  HEDDLE_ABI_AT(dynamic_dim_indices, 24) &&
                                                  HEDDLE_ABI_AT(dynamic_dim_indices_count, 32));
HEDDLE_ABI(BufferCopyRawToHostArgs, HEDDLE_ABI_SIZE(56) && HEDDLE_ABI_AT(buffer, 16) &&
                                        HEDDLE_ABI_AT(dst, 24) && HEDDLE_ABI_AT(offset, 32) &&
                                        HEDDLE_ABI_AT(transfer_size, 40) &&
                                        HEDDLE_ABI_AT(event, 48));
HEDDLE_ABI(BufferCopyToMemoryArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(buffer, 16) &&
                                       HEDDLE_ABI_AT(dst_memory, 24) &&
                                       HEDDLE_ABI_AT(dst_buffer, 32));
HEDDLE_ABI(ClientCreateAliasBufferArgs,
           HEDDLE_ABI_SIZE(80) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(memory, 24) &&
               HEDDLE_ABI_AT(shape_dims, 32) && HEDDLE_ABI_AT(shape_num_dims, 40) &&
               HEDDLE_ABI_AT(shape_element_type, 48) && HEDDLE_ABI_AT(shape_layout, 56) &&
               HEDDLE_ABI_AT(alias_buffer, 64) && HEDDLE_ABI_AT(fulfill_alias_buffer_cb, 72));
HEDDLE_ABI(ClientFulfillAliasBufferArgs,
           HEDDLE_ABI_SIZE(64) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(buffer, 24) &&
               HEDDLE_ABI_AT(status_code, 32) && HEDDLE_ABI_AT(error_message, 40) &&
               HEDDLE_ABI_AT(error_message_size, 48) && HEDDLE_ABI_AT(fulfill_alias_buffer_cb, 56));
HEDDLE_ABI(LoadedExecutableGetDeviceAssignmentArgs,
           HEDDLE_ABI_SIZE(56) && HEDDLE_ABI_AT(executable, 16) &&
               HEDDLE_ABI_AT(serialized_bytes, 24) && HEDDLE_ABI_AT(serialized_bytes_size, 32) &&
               HEDDLE_ABI_AT(serialized_device_assignment, 40) && HEDDLE_ABI_AT(deleter, 48));
HEDDLE_ABI(ExecuteContextCreateArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(context, 16));
HEDDLE_ABI(ExecuteContextDestroyArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(context, 16));
HEDDLE_ABI(ExecutableFingerprintArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(executable, 16) &&
                                          HEDDLE_ABI_AT(executable_fingerprint, 24) &&
                                          HEDDLE_ABI_AT(executable_fingerprint_size, 32));
HEDDLE_ABI(ClientCreateErrorBufferArgs,
           HEDDLE_ABI_SIZE(112) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(error_code, 24) &&
               HEDDLE_ABI_AT(error_message, 32) && HEDDLE_ABI_AT(error_message_size, 40) &&
               HEDDLE_ABI_AT(shape_dims, 48) && HEDDLE_ABI_AT(shape_num_dims, 56) &&
               HEDDLE_ABI_AT(shape_element_type, 64) && HEDDLE_ABI_AT(shape_layout, 72) &&
               HEDDLE_ABI_AT(memory, 80) && HEDDLE_ABI_AT(buffer, 88) &&
               HEDDLE_ABI_AT(payload, 96) && HEDDLE_ABI_AT(payload_count, 104));
HEDDLE_ABI(BufferBitcastArgs,
           HEDDLE_ABI_SIZE(64) && HEDDLE_ABI_AT(buffer, 16) && HEDDLE_ABI_AT(element_type, 24) &&
               HEDDLE_ABI_AT(dims, 32) && HEDDLE_ABI_AT(dims_count, 40) &&
               HEDDLE_ABI_AT(device_layout, 48) && HEDDLE_ABI_AT(out_buffer, 56));
HEDDLE_ABI(ClientDmaMapArgs, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(client, 16) &&
                                 HEDDLE_ABI_AT(data, 24) && HEDDLE_ABI_AT(size, 32));
HEDDLE_ABI(ClientDmaUnmapArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(data, 24));
HEDDLE_ABI(EventCreateArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(event, 16));
HEDDLE_ABI(EventSetArgs, HEDDLE_ABI_SIZE(48) && HEDDLE_ABI_AT(event, 16) &&
                             HEDDLE_ABI_AT(error_code, 24) && HEDDLE_ABI_AT(error_message, 32) &&
                             HEDDLE_ABI_AT(error_message_size, 40));
HEDDLE_ABI(ShapeSpec, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(dims, 16) &&
                          HEDDLE_ABI_AT(dims_count, 24) && HEDDLE_ABI_AT(element_type, 32));
HEDDLE_ABI(ClientCreateBuffersForAsyncHostToDeviceArgs,
           HEDDLE_ABI_SIZE(72) && HEDDLE_ABI_AT(client, 16) && HEDDLE_ABI_AT(shape_specs, 24) &&
               HEDDLE_ABI_AT(shape_specs_count, 32) && HEDDLE_ABI_AT(device_layouts, 40) &&
               HEDDLE_ABI_AT(device_layouts_count, 48) && HEDDLE_ABI_AT(memory, 56) &&
               HEDDLE_ABI_AT(transfer_manager, 64));
HEDDLE_ABI(AsyncHostToDeviceTransferManagerDestroyArgs,
           HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(transfer_manager, 16));
HEDDLE_ABI(AsyncHostToDeviceTransferManagerTransferDataArgs,
           HEDDLE_ABI_SIZE(72) && HEDDLE_ABI_AT(transfer_manager, 16) &&
               HEDDLE_ABI_AT(buffer_index, 24) && HEDDLE_ABI_AT(data, 32) &&
               HEDDLE_ABI_AT(offset, 40) && HEDDLE_ABI_AT(transfer_size, 48) &&
               HEDDLE_ABI_AT(is_last_transfer, 56) && HEDDLE_ABI_AT(done_with_h2d_transfer, 64));
HEDDLE_ABI(AsyncHostToDeviceTransferManagerRetrieveBufferArgs,
           HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(transfer_manager, 16) &&
               HEDDLE_ABI_AT(buffer_index, 24) && HEDDLE_ABI_AT(buffer_out, 32));
HEDDLE_ABI(AsyncHostToDeviceTransferManagerSetBufferErrorArgs,
           HEDDLE_ABI_SIZE(48) && HEDDLE_ABI_AT(transfer_manager, 16) &&
               HEDDLE_ABI_AT(buffer_index, 24) && HEDDLE_ABI_AT(error_code, 28) &&
               HEDDLE_ABI_AT(error_message, 32) && HEDDLE_ABI_AT(error_message_size, 40));
HEDDLE_ABI(DeviceDescriptionMemoryDescriptionsArgs,
           HEDDLE_ABI_SIZE(48) && HEDDLE_ABI_AT(device_description, 16) &&
               HEDDLE_ABI_AT(memory_descriptions, 24) &&
               HEDDLE_ABI_AT(memory_descriptions_count, 32) &&
               HEDDLE_ABI_AT(default_memory_index, 40));
HEDDLE_ABI(MemoryDescriptionKindArgs, HEDDLE_ABI_SIZE(48) &&
                                          HEDDLE_ABI_AT(memory_description, 16) &&
                                          HEDDLE_ABI_AT(kind, 24) && HEDDLE_ABI_AT(kind_size, 32) &&
                                          HEDDLE_ABI_AT(kind_id, 40));
HEDDLE_ABI(MemoryDescriptionsExtension, HEDDLE_ABI_SIZE(40) &&
                                            HEDDLE_ABI_AT(memory_descriptions, 24) &&
                                            HEDDLE_ABI_AT(kind, 32));
HEDDLE_ABI(LayoutsMemoryLayoutDestroyArgs, HEDDLE_ABI_SIZE(24) && HEDDLE_ABI_AT(layout, 16));
HEDDLE_ABI(LayoutsMemoryLayoutSerializeArgs,
           HEDDLE_ABI_SIZE(56) && HEDDLE_ABI_AT(layout, 16) &&
               HEDDLE_ABI_AT(serialized_bytes, 24) && HEDDLE_ABI_AT(serialized_bytes_size, 32) &&
               HEDDLE_ABI_AT(serialized_layout, 40) && HEDDLE_ABI_AT(deleter, 48));
HEDDLE_ABI(LayoutsBufferMemoryLayoutArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(buffer, 16) && HEDDLE_ABI_AT(layout, 24));
HEDDLE_ABI(LayoutsExtension, HEDDLE_ABI_AT(destroy, 24) && HEDDLE_ABI_AT(serialize, 32) &&
                                 HEDDLE_ABI_AT(client_default_layout, 40) &&
                                 HEDDLE_ABI_AT(buffer_memory_layout, 48));
HEDDLE_ABI(FfiRegisterHandlerArgs,
           HEDDLE_ABI_SIZE(56) && HEDDLE_ABI_AT(target_name, 8) &&
               HEDDLE_ABI_AT(target_name_size, 16) && HEDDLE_ABI_AT(handler, 24) &&
               HEDDLE_ABI_AT(platform_name, 32) && HEDDLE_ABI_AT(platform_name_size, 40) &&
               HEDDLE_ABI_AT(traits, 48));
HEDDLE_ABI(FfiExtension, HEDDLE_ABI_SIZE(48) && HEDDLE_ABI_AT(type_register, 24) &&
                             HEDDLE_ABI_AT(user_data_add, 32) &&
                             HEDDLE_ABI_AT(register_handler, 40));
HEDDLE_ABI(FfiErrorCreateArgs,
           HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(message, 16) && HEDDLE_ABI_AT(code, 24));
HEDDLE_ABI(FfiApi, HEDDLE_ABI_AT(version, 16) && HEDDLE_ABI_AT(internal, 40) &&
                       HEDDLE_ABI_AT(error_create, 48));
HEDDLE_ABI(FfiBuffer, HEDDLE_ABI_SIZE(48) && HEDDLE_ABI_AT(type, 16) && HEDDLE_ABI_AT(data, 24) &&
                          HEDDLE_ABI_AT(rank, 32) && HEDDLE_ABI_AT(dims, 40));
HEDDLE_ABI(FfiText, HEDDLE_ABI_SIZE(16));
HEDDLE_ABI(FfiBuffers, HEDDLE_ABI_SIZE(40) && HEDDLE_ABI_AT(count, 16) &&
                           HEDDLE_ABI_AT(types, 24) && HEDDLE_ABI_AT(buffers, 32));
HEDDLE_ABI(FfiAttributes, HEDDLE_ABI_SIZE(48) && HEDDLE_ABI_AT(count, 16) &&
                              HEDDLE_ABI_AT(types, 24) && HEDDLE_ABI_AT(names, 32) &&
                              HEDDLE_ABI_AT(values, 40));
HEDDLE_ABI(FfiFrame, HEDDLE_ABI_SIZE(168) && HEDDLE_ABI_AT(api, 16) && HEDDLE_ABI_AT(context, 24) &&
                         HEDDLE_ABI_AT(stage, 32) && HEDDLE_ABI_AT(arguments, 40) &&
                         HEDDLE_ABI_AT(results, 80) && HEDDLE_ABI_AT(attributes, 120));
HEDDLE_ABI(FfiMetadata, HEDDLE_ABI_AT(version, 8) && HEDDLE_ABI_AT(traits, 32));
HEDDLE_ABI(FfiMetadataExtension, HEDDLE_ABI_SIZE(32) && HEDDLE_ABI_AT(metadata, 24));

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

#undef HEDDLE_ABI
#undef HEDDLE_ABI_SIZE
#undef HEDDLE_ABI_AT
