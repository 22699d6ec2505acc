// The offsets and sizes of what extras.h declares, as facts (64-bit Linux).
#include "heddle/pjrt/abi/extras.h"

namespace heddle::pjrt::abi {
namespace {

#define ABI_SIZE(type, bytes) static_assert(sizeof(type) == (bytes))
#define ABI_AT(type, member, byte) static_assert(offsetof(type, member) == (byte))

ABI_SIZE(ClientCreateViewOfDeviceBufferArgs, 112);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, client, 16);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, device_buffer_ptr, 24);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, dims, 32);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, dims_count, 40);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, element_type, 48);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, layout, 56);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, device, 64);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, on_delete_callback, 72);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, on_delete_callback_arg, 80);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, stream, 88);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, buffer, 96);
ABI_AT(ClientCreateViewOfDeviceBufferArgs, memory, 104);
ABI_SIZE(BufferDynamicDimensionIndicesArgs, 40);
ABI_AT(BufferDynamicDimensionIndicesArgs, buffer, 16);
ABI_AT(BufferDynamicDimensionIndicesArgs, dynamic_dim_indices, 24);
ABI_AT(BufferDynamicDimensionIndicesArgs, dynamic_dim_indices_count, 32);
ABI_SIZE(BufferCopyRawToHostArgs, 56);
ABI_AT(BufferCopyRawToHostArgs, buffer, 16);
ABI_AT(BufferCopyRawToHostArgs, dst, 24);
ABI_AT(BufferCopyRawToHostArgs, offset, 32);
ABI_AT(BufferCopyRawToHostArgs, transfer_size, 40);
ABI_AT(BufferCopyRawToHostArgs, event, 48);
ABI_SIZE(BufferCopyToMemoryArgs, 40);
ABI_AT(BufferCopyToMemoryArgs, buffer, 16);
ABI_AT(BufferCopyToMemoryArgs, dst_memory, 24);
ABI_AT(BufferCopyToMemoryArgs, dst_buffer, 32);
ABI_SIZE(ClientCreateAliasBufferArgs, 80);
ABI_AT(ClientCreateAliasBufferArgs, client, 16);
ABI_AT(ClientCreateAliasBufferArgs, memory, 24);
ABI_AT(ClientCreateAliasBufferArgs, shape_dims, 32);
ABI_AT(ClientCreateAliasBufferArgs, shape_num_dims, 40);
ABI_AT(ClientCreateAliasBufferArgs, shape_element_type, 48);
ABI_AT(ClientCreateAliasBufferArgs, shape_layout, 56);
ABI_AT(ClientCreateAliasBufferArgs, alias_buffer, 64);
ABI_AT(ClientCreateAliasBufferArgs, fulfill_alias_buffer_cb, 72);
ABI_SIZE(ClientFulfillAliasBufferArgs, 64);
ABI_AT(ClientFulfillAliasBufferArgs, client, 16);
ABI_AT(ClientFulfillAliasBufferArgs, buffer, 24);
ABI_AT(ClientFulfillAliasBufferArgs, status_code, 32);
ABI_AT(ClientFulfillAliasBufferArgs, error_message, 40);
ABI_AT(ClientFulfillAliasBufferArgs, error_message_size, 48);
ABI_AT(ClientFulfillAliasBufferArgs, fulfill_alias_buffer_cb, 56);
ABI_SIZE(LoadedExecutableGetDeviceAssignmentArgs, 56);
ABI_AT(LoadedExecutableGetDeviceAssignmentArgs, executable, 16);
ABI_AT(LoadedExecutableGetDeviceAssignmentArgs, serialized_bytes, 24);
ABI_AT(LoadedExecutableGetDeviceAssignmentArgs, serialized_bytes_size, 32);
ABI_AT(LoadedExecutableGetDeviceAssignmentArgs, serialized_device_assignment, 40);
ABI_AT(LoadedExecutableGetDeviceAssignmentArgs, deleter, 48);
ABI_SIZE(ExecuteContextCreateArgs, 24);
ABI_AT(ExecuteContextCreateArgs, context, 16);
ABI_SIZE(ExecuteContextDestroyArgs, 24);
ABI_AT(ExecuteContextDestroyArgs, context, 16);
ABI_SIZE(ExecutableFingerprintArgs, 40);
ABI_AT(ExecutableFingerprintArgs, executable, 16);
ABI_AT(ExecutableFingerprintArgs, executable_fingerprint, 24);
ABI_AT(ExecutableFingerprintArgs, executable_fingerprint_size, 32);
ABI_SIZE(ShapeSpec, 40);
ABI_AT(ShapeSpec, dims, 16);
ABI_AT(ShapeSpec, dims_count, 24);
ABI_AT(ShapeSpec, element_type, 32);
ABI_SIZE(ClientCreateBuffersForAsyncHostToDeviceArgs, 72);
ABI_AT(ClientCreateBuffersForAsyncHostToDeviceArgs, client, 16);
ABI_AT(ClientCreateBuffersForAsyncHostToDeviceArgs, shape_specs, 24);
ABI_AT(ClientCreateBuffersForAsyncHostToDeviceArgs, shape_specs_count, 32);
ABI_AT(ClientCreateBuffersForAsyncHostToDeviceArgs, device_layouts, 40);
ABI_AT(ClientCreateBuffersForAsyncHostToDeviceArgs, device_layouts_count, 48);
ABI_AT(ClientCreateBuffersForAsyncHostToDeviceArgs, memory, 56);
ABI_AT(ClientCreateBuffersForAsyncHostToDeviceArgs, transfer_manager, 64);
ABI_SIZE(AsyncHostToDeviceTransferManagerDestroyArgs, 24);
ABI_AT(AsyncHostToDeviceTransferManagerDestroyArgs, transfer_manager, 16);
ABI_SIZE(AsyncHostToDeviceTransferManagerTransferDataArgs, 72);
ABI_AT(AsyncHostToDeviceTransferManagerTransferDataArgs, transfer_manager, 16);
ABI_AT(AsyncHostToDeviceTransferManagerTransferDataArgs, buffer_index, 24);
ABI_AT(AsyncHostToDeviceTransferManagerTransferDataArgs, data, 32);
ABI_AT(AsyncHostToDeviceTransferManagerTransferDataArgs, offset, 40);
ABI_AT(AsyncHostToDeviceTransferManagerTransferDataArgs, transfer_size, 48);
ABI_AT(AsyncHostToDeviceTransferManagerTransferDataArgs, is_last_transfer, 56);
ABI_AT(AsyncHostToDeviceTransferManagerTransferDataArgs, done_with_h2d_transfer, 64);
ABI_SIZE(AsyncHostToDeviceTransferManagerRetrieveBufferArgs, 40);
ABI_AT(AsyncHostToDeviceTransferManagerRetrieveBufferArgs, transfer_manager, 16);
ABI_AT(AsyncHostToDeviceTransferManagerRetrieveBufferArgs, buffer_index, 24);
ABI_AT(AsyncHostToDeviceTransferManagerRetrieveBufferArgs, buffer_out, 32);
ABI_SIZE(AsyncHostToDeviceTransferManagerSetBufferErrorArgs, 48);
ABI_AT(AsyncHostToDeviceTransferManagerSetBufferErrorArgs, transfer_manager, 16);
ABI_AT(AsyncHostToDeviceTransferManagerSetBufferErrorArgs, buffer_index, 24);
ABI_AT(AsyncHostToDeviceTransferManagerSetBufferErrorArgs, error_code, 28);
ABI_AT(AsyncHostToDeviceTransferManagerSetBufferErrorArgs, error_message, 32);
ABI_AT(AsyncHostToDeviceTransferManagerSetBufferErrorArgs, error_message_size, 40);
ABI_SIZE(DeviceDescriptionMemoryDescriptionsArgs, 48);
ABI_AT(DeviceDescriptionMemoryDescriptionsArgs, device_description, 16);
ABI_AT(DeviceDescriptionMemoryDescriptionsArgs, memory_descriptions, 24);
ABI_AT(DeviceDescriptionMemoryDescriptionsArgs, memory_descriptions_count, 32);
ABI_AT(DeviceDescriptionMemoryDescriptionsArgs, default_memory_index, 40);
ABI_SIZE(MemoryDescriptionKindArgs, 48);
ABI_AT(MemoryDescriptionKindArgs, memory_description, 16);
ABI_AT(MemoryDescriptionKindArgs, kind, 24);
ABI_AT(MemoryDescriptionKindArgs, kind_size, 32);
ABI_AT(MemoryDescriptionKindArgs, kind_id, 40);
ABI_SIZE(MemoryDescriptionsExtension, 40);
ABI_AT(MemoryDescriptionsExtension, memory_descriptions, 24);
ABI_AT(MemoryDescriptionsExtension, kind, 32);
ABI_SIZE(LayoutsMemoryLayoutDestroyArgs, 24);
ABI_AT(LayoutsMemoryLayoutDestroyArgs, layout, 16);
ABI_SIZE(LayoutsMemoryLayoutSerializeArgs, 56);
ABI_AT(LayoutsMemoryLayoutSerializeArgs, layout, 16);
ABI_AT(LayoutsMemoryLayoutSerializeArgs, serialized_bytes, 24);
ABI_AT(LayoutsMemoryLayoutSerializeArgs, serialized_bytes_size, 32);
ABI_AT(LayoutsMemoryLayoutSerializeArgs, serialized_layout, 40);
ABI_AT(LayoutsMemoryLayoutSerializeArgs, deleter, 48);
ABI_SIZE(LayoutsBufferMemoryLayoutArgs, 32);
ABI_AT(LayoutsBufferMemoryLayoutArgs, buffer, 16);
ABI_AT(LayoutsBufferMemoryLayoutArgs, layout, 24);
ABI_AT(LayoutsExtension, destroy, 24);
ABI_AT(LayoutsExtension, serialize, 32);
ABI_AT(LayoutsExtension, client_default_layout, 40);
ABI_AT(LayoutsExtension, buffer_memory_layout, 48);

}  // namespace
}  // namespace heddle::pjrt::abi
