#include "heddle/runtime/transfer.h"

#include "heddle/base/counters.h"
#include "heddle/runtime/internal/memory.h"
#include "heddle/runtime/internal/mesh_transfer.h"
#include "heddle/runtime/transfer_guard.h"

namespace heddle::runtime {
namespace {

using Direction = TransferGuard::Direction;

Status check_array(const Shape& shape) {
  if (shape.is_array()) return {};
  return invalid_argument("upload: a value of type ", shape,
                          "; it must be an array; upload each of its leaves");
}

bool can_lend(const void* data) { return reinterpret_cast<uintptr_t>(data) % kLendAlignment == 0; }

void count_upload(const Shape& shape) {
  count(&Counters::uploads);
  count(&Counters::upload_bytes, shape.byte_size());
}

}  // namespace

StatusOr<BufferPtr> to_device(Device& device, const Literal& literal, std::string_view what) {
  const Shape& shape = literal.shape();
  HEDDLE_RETURN_IF_ERROR(check_array(shape));
  if (literal.is_elided()) {
    return failed_precondition("upload: a literal of type ", shape,
                               " whose values were elided as {...}; "
                               "print the module with its constants in full");
  }
  if (is_mesh(device)) return to_devices(device, literal, hlo::Sharding(), what);
  HEDDLE_RETURN_IF_ERROR(TransferGuard::check(Direction::kHostToDevice, shape, what));
  StatusOr<BufferPtr> buffer =
      within_memory([&] { return device.backend().copy_to_device(device, literal.bytes(), shape); },
                    "upload: ", shape);
  if (buffer.ok()) count_upload(shape);
  return buffer;
}

StatusOr<BufferPtr> lend_to_device(Device& device, const void* data, const Shape& shape,
                                   std::shared_ptr<const void> owner, std::string_view what) {
  HEDDLE_RETURN_IF_ERROR(check_array(shape));
  if (is_mesh(device))
    return to_device(device, Literal::borrowed(shape, data, std::move(owner)), what);
  HEDDLE_RETURN_IF_ERROR(TransferGuard::check(Direction::kHostToDevice, shape, what));
  if (can_lend(data)) {
    HEDDLE_ASSIGN_OR_RETURN(BufferPtr lent,
                            device.backend().borrow(device, data, shape, std::move(owner)));
    if (lent != nullptr) {
      count(&Counters::aliased_bytes, shape.byte_size());
      return lent;
    }
  }
  StatusOr<BufferPtr> buffer = within_memory(
      [&] { return device.backend().copy_to_device(device, data, shape); }, "upload: ", shape);
  if (buffer.ok()) count_upload(shape);
  return buffer;
}

StatusOr<Literal> to_host(Buffer& buffer, std::string_view what) {
  HEDDLE_RETURN_IF_ERROR(TransferGuard::check(Direction::kDeviceToHost, buffer.shape(), what));
  if (!buffer.shape().is_array()) {
    return invalid_argument("download: a value of type ", buffer.shape(),
                            " has no bytes; it must be an array");
  }
  if (buffer.is_deleted()) return deleted_error("download", buffer.shape());
  if (ShardedBuffer* sharded = as_sharded(buffer)) {
    return within_memory([&] { return assemble(*sharded, what); }, "download: ", buffer.shape());
  }
  // Before the memory is asked for: a run that failed may have promised more than there is.
  HEDDLE_RETURN_IF_ERROR(buffer.await());
  const auto copy = [&]() -> StatusOr<Literal> {
    Literal literal = Literal::uninitialised(buffer.shape());
    HEDDLE_RETURN_IF_ERROR(buffer.device().backend().copy_to_host(buffer, literal.mutable_bytes()));
    return literal;
  };
  HEDDLE_ASSIGN_OR_RETURN(Literal literal, within_memory(copy, "download: ", buffer.shape()));
  count(&Counters::downloads);
  count(&Counters::download_bytes, buffer.size_bytes());
  return literal;
}

}  // namespace heddle::runtime
