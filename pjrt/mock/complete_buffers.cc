// The calls on buffers that Heddle does not make, as a plugin of XLA's answers them.
#include <cstring>

#include "heddle/pjrt/abi/buffer.h"
#include "heddle/pjrt/abi/extras.h"
#include "heddle/pjrt/mock/enter.h"

namespace heddle::pjrt::abi {

struct AsyncHostToDeviceTransferManager {
  mock::Alive alive;
  std::vector<std::shared_ptr<mock::Memory>> arrays;
};
struct LayoutsMemoryLayout {
  mock::Alive alive;
  std::string text;
};
struct FulfillAliasBufferCallback {
  std::shared_ptr<mock::Memory> memory;
};

}  // namespace heddle::pjrt::abi

namespace heddle::pjrt::mock {
namespace {

using MemoryPtr = std::shared_ptr<Memory>;

// Memory of the device, with bytes of its own that nobody has written.
MemoryPtr memory_for(Array array) {
  const size_t size = size_of(array);
  array.bytes.resize(size);
  return std::make_shared<Memory>(seen(), std::move(array), size);
}

// Memory that is another's, which stays until this goes.
MemoryPtr view_of(Array array, const void* data, std::function<void()> gone) {
  const size_t size = size_of(array);
  auto memory = std::make_shared<Memory>(seen(), std::move(array), size, data);
  memory->host_is_free->then([gone = std::move(gone)](const auto&) {
    if (gone) gone();
  });
  return memory;
}

void copy_when_ready(const MemoryPtr& from, const MemoryPtr& to) {
  from->ready->then([from, to](const std::optional<Fault>& fault) {
    if (!fault.has_value() && to->size > 0)
      std::memcpy(to->array.bytes.data(), from->data(), static_cast<size_t>(to->size));
    to->ready->happen(fault);
  });
}

abi::Buffer* copy_of(const abi::Buffer& buffer) {
  const Array& from = buffer.memory->array;
  const MemoryPtr to = memory_for(array_of(from.type, from.dims.data(), from.dims.size()));
  copy_when_ready(buffer.memory, to);
  return buffer_of(to);
}

Fault fault_by(abi::ErrorCode code, const char* message, size_t size) {
  return {.code = static_cast<int>(code), .message = std::string(message, size)};
}

// ---- What a buffer tells.

void answer(abi::BufferElementTypeArgs& args) { args.type = args.buffer->memory->array.type; }

void answer(abi::BufferDimensionsArgs& args) {
  args.dims = args.buffer->memory->array.dims.data();
  args.dims_count = args.buffer->memory->array.dims.size();
}

void answer(abi::BufferDynamicDimensionIndicesArgs& args) { args.dynamic_dim_indices_count = 0; }

// Integers of four bits lie two in a byte.
void answer(abi::BufferOnDeviceSizeInBytesArgs& args) {
  const Memory& memory = *args.buffer->memory;
  const auto size = static_cast<size_t>(memory.size);
  args.on_device_size_in_bytes = is_packed(memory.array.type) ? (size + 1) / 2 : size;
}

void answer(abi::BufferDeleteArgs& args) { args.buffer->is_deleted = true; }

void answer(abi::BufferIsDeletedArgs& args) { args.is_deleted = args.buffer->is_deleted; }

// ---- Copies.

abi::Error* answer(abi::BufferCopyToDeviceArgs& args) {
  if (args.buffer->is_deleted) return deleted_error();
  args.dst_buffer = copy_of(*args.buffer);
  return nullptr;
}

abi::Error* answer(abi::BufferCopyToMemoryArgs& args) {
  if (args.buffer->is_deleted) return deleted_error();
  args.dst_buffer = copy_of(*args.buffer);
  return nullptr;
}

abi::Error* answer(abi::BufferCopyRawToHostArgs& args) {
  const MemoryPtr memory = args.buffer->memory;
  if (args.offset < 0 || args.transfer_size < 0 || args.offset > memory->size ||
      args.transfer_size > memory->size - args.offset)
    return fail({.code = 3, .message = "the bytes are not all in the buffer"});
  auto moment = std::make_shared<Moment>();
  args.event = event_of(moment);
  memory->ready->then([memory, moment, dst = args.dst, offset = args.offset,
                       size = args.transfer_size](const std::optional<Fault>& fault) {
    if (!fault.has_value() && size > 0)
      std::memcpy(dst, static_cast<const std::byte*>(memory->data()) + offset,
                  static_cast<size_t>(size));
    moment->happen(fault);
  });
  return nullptr;
}

abi::Error* answer(abi::BufferBitcastArgs& args) {
  Array array = array_of(args.element_type, args.dims, args.dims_count);
  const MemoryPtr from = args.buffer->memory;
  if (static_cast<int64_t>(size_of(array)) != from->size)
    return fail({.code = 3, .message = "the new type has another size"});
  const MemoryPtr to = view_of(std::move(array), from->data(), [from] {});
  from->ready->then([to](const std::optional<Fault>& fault) { to->ready->happen(fault); });
  args.out_buffer = buffer_of(to);
  return nullptr;
}

// ---- Buffers that no upload fills.

void answer(abi::ClientCreateUninitializedBufferArgs& args) {
  const MemoryPtr memory =
      memory_for(array_of(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  memory->ready->happen();
  args.buffer = buffer_of(memory);
}

abi::Error* answer(abi::ClientCreateViewOfDeviceBufferArgs& args) {
  if (reinterpret_cast<uintptr_t>(args.device_buffer_ptr) % 64 != 0) {
    return fail({.code = 3,
                 .message = "Can't create a view of buffer with unaligned data: the memory is not "
                            "aligned to 64 bytes"});
  }
  const auto gone = [call = args.on_delete_callback, data = args.device_buffer_ptr,
                     user = args.on_delete_callback_arg] {
    if (call != nullptr) call(data, user);
  };
  const MemoryPtr memory = view_of(array_of(args.element_type, args.dims, args.dims_count),
                                   args.device_buffer_ptr, gone);
  memory->ready->happen();
  args.buffer = buffer_of(memory);
  return nullptr;
}

void answer(abi::ClientCreateErrorBufferArgs& args) {
  const MemoryPtr memory =
      memory_for(array_of(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  memory->ready->happen(fault_by(args.error_code, args.error_message, args.error_message_size));
  args.buffer = buffer_of(memory);
}

void answer(abi::ClientCreateAliasBufferArgs& args) {
  const MemoryPtr memory =
      memory_for(array_of(args.shape_element_type, args.shape_dims, args.shape_num_dims));
  args.fulfill_alias_buffer_cb = new abi::FulfillAliasBufferCallback{memory};
  args.alias_buffer = buffer_of(memory);
}

void answer(abi::ClientFulfillAliasBufferArgs& args) {
  const std::unique_ptr<abi::FulfillAliasBufferCallback> alias(args.fulfill_alias_buffer_cb);
  if (args.status_code != abi::ErrorCode::kOk) {
    alias->memory->ready->happen(
        fault_by(args.status_code, args.error_message, args.error_message_size));
  } else {
    copy_when_ready(args.buffer->memory, alias->memory);
  }
}

// ---- Uploads piece by piece.

void answer(abi::ClientCreateBuffersForAsyncHostToDeviceArgs& args) {
  args.transfer_manager = new abi::AsyncHostToDeviceTransferManager{Alive(seen().buffers), {}};
  for (size_t i = 0; i < args.shape_specs_count; ++i) {
    const abi::ShapeSpec& spec = args.shape_specs[i];
    args.transfer_manager->arrays.push_back(
        memory_for(array_of(spec.element_type, spec.dims, spec.dims_count)));
  }
}

void answer(abi::AsyncHostToDeviceTransferManagerDestroyArgs& args) {
  delete args.transfer_manager;
}

void answer(abi::AsyncHostToDeviceTransferManagerRetrieveBufferArgs& args) {
  args.buffer_out =
      buffer_of(args.transfer_manager->arrays[static_cast<size_t>(args.buffer_index)]);
}

abi::Error* answer(abi::AsyncHostToDeviceTransferManagerTransferDataArgs& args) {
  Memory& to = *args.transfer_manager->arrays[static_cast<size_t>(args.buffer_index)];
  if (args.offset < 0 || args.transfer_size < 0 || args.offset > to.size ||
      args.transfer_size > to.size - args.offset)
    return fail({.code = 3, .message = "the bytes are not all in the buffer"});
  std::memcpy(to.array.bytes.data() + args.offset, args.data,
              static_cast<size_t>(args.transfer_size));
  auto done = std::make_shared<Moment>();
  done->happen();
  args.done_with_h2d_transfer = event_of(std::move(done));
  if (args.is_last_transfer) to.ready->happen();
  return nullptr;
}

void answer(abi::AsyncHostToDeviceTransferManagerSetBufferErrorArgs& args) {
  args.transfer_manager->arrays[static_cast<size_t>(args.buffer_index)]->ready->happen(
      fault_by(args.error_code, args.error_message, args.error_message_size));
}

// ---- Layouts: row-major, as text.

abi::Error* tell_layout(abi::LayoutsBufferMemoryLayoutArgs* args) {
  std::string text = "{";
  for (size_t d = args->buffer->memory->array.dims.size(); d-- > 0;)
    text += std::to_string(d) + (d > 0 ? "," : "");
  args->layout = new abi::LayoutsMemoryLayout{Alive(seen().buffers), text + "}"};
  return nullptr;
}

// The bytes are the layout's own.
abi::Error* serialize_layout(abi::LayoutsMemoryLayoutSerializeArgs* args) {
  args->serialized_bytes = args->layout->text.data();
  args->serialized_bytes_size = args->layout->text.size();
  args->deleter = [](abi::LayoutsSerializedLayout*) {};
  return nullptr;
}

abi::Error* destroy_layout(abi::LayoutsMemoryLayoutDestroyArgs* args) {
  delete args->layout;
  return nullptr;
}

constexpr auto kAnswerBuffers = [](auto& args) { return answer(args); };
constexpr auto kUndoBuffers = [](auto& args) { take_back(args); };

}  // namespace

abi::Extension* add_layouts(abi::Extension* next) {
  static abi::LayoutsExtension layouts;
  layouts.base = {
      .struct_size = sizeof(layouts), .type = abi::ExtensionType::kLayouts, .next = next};
  layouts.destroy = &destroy_layout;
  layouts.serialize = &serialize_layout;
  layouts.buffer_memory_layout = &tell_layout;
  return &layouts.base;
}

void add_complete_buffer_rows(abi::Table& table) {
  add_rows<abi::BufferElementTypeArgs, abi::BufferDimensionsArgs,
           abi::BufferDynamicDimensionIndicesArgs, abi::BufferOnDeviceSizeInBytesArgs,
           abi::BufferDeleteArgs, abi::BufferIsDeletedArgs, abi::BufferCopyToDeviceArgs,
           abi::BufferCopyToMemoryArgs, abi::BufferCopyRawToHostArgs, abi::BufferBitcastArgs,
           abi::ClientCreateUninitializedBufferArgs, abi::ClientCreateViewOfDeviceBufferArgs,
           abi::ClientCreateErrorBufferArgs, abi::ClientCreateAliasBufferArgs,
           abi::ClientFulfillAliasBufferArgs, abi::ClientCreateBuffersForAsyncHostToDeviceArgs,
           abi::AsyncHostToDeviceTransferManagerDestroyArgs,
           abi::AsyncHostToDeviceTransferManagerRetrieveBufferArgs,
           abi::AsyncHostToDeviceTransferManagerTransferDataArgs,
           abi::AsyncHostToDeviceTransferManagerSetBufferErrorArgs>(table, kAnswerBuffers,
                                                                    kUndoBuffers);
}

}  // namespace heddle::pjrt::mock
