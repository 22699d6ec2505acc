#include "heddle/runtime/transfer.h"

#include <utility>

#include "heddle/base/containers/span.h"
#include "heddle/base/metrics/counters.h"
#include "heddle/base/system/memory.h"
#include "heddle/runtime/internal/launch_room.h"
#include "heddle/runtime/internal/mesh_transfer.h"
#include "heddle/runtime/internal/strided.h"
#include "heddle/runtime/transfer_guard.h"

namespace heddle::runtime {
namespace {

using Direction = TransferGuard::Direction;

Status check_array(const Shape& shape) {
  if (shape.is_array()) return base::annotate(check_shape(shape), "upload: ");
  return base::invalid_argument("upload: a value of type ", shape,
                                "; it must be an array; upload each of its leaves");
}

Status check_data(const void* data, const Shape& shape) {
  if (data != nullptr || shape.byte_size() == 0) return {};
  return base::invalid_argument("upload: the data of ", shape,
                                " is a null pointer; it must point at ", shape.byte_size(),
                                " bytes");
}

bool can_lend(const void* data) { return reinterpret_cast<uintptr_t>(data) % kLendAlignment == 0; }

// For reading a buffer.
Status check_download(Buffer& buffer, std::string_view what) {
  HEDDLE_RETURN_IF_ERROR(TransferGuard::check(Direction::kDeviceToHost, buffer.shape(), what));
  if (!buffer.shape().is_array()) {
    return base::invalid_argument("download: a value of type ", buffer.shape(),
                                  " has no bytes; it must be an array");
  }
  if (buffer.is_deleted()) return deleted_error("download", buffer.shape());
  return buffer.device().is_gone() ? gone_error("download", buffer.device()) : Status();
}

void count_download(const Shape& shape) {
  count(&Counters::downloads);
  count(&Counters::download_bytes, shape.byte_size());
}

// A copy to the device by copy(), within its throttle.
template <class Copy>
StatusOr<BufferPtr> upload(Device& device, const Shape& shape, const UploadOptions& options,
                           const Copy& copy) {
  HEDDLE_ASSIGN_OR_RETURN(Throttle::Ticket ticket,
                          admit_upload(shape, device, options.only_if_room));
  const base::Span span(base::Activity::kUpload, {}, {}, shape.byte_size());
  HEDDLE_ASSIGN_OR_RETURN(BufferPtr buffer, base::within_memory(copy, "upload: ", shape));
  buffer->hold_until_ready(std::move(ticket));
  count(&Counters::uploads);
  count(&Counters::upload_bytes, shape.byte_size());
  return buffer;
}

// Every device of a mesh has all of it: put(device) is the buffer of one.
template <class Put>
StatusOr<BufferPtr> on_all(Device& mesh, const Shape& shape, const Put& put) {
  const std::vector<Device*> devices = devices_of(mesh);
  HEDDLE_ASSIGN_OR_RETURN(hlo::Tiles tiles, hlo::tiles_of(hlo::Sharding(), shape,
                                                          static_cast<int64_t>(devices.size())));
  std::vector<BufferPtr> parts;
  for (Device* device : devices) {
    HEDDLE_ASSIGN_OR_RETURN(parts.emplace_back(), put(*device));
  }
  return std::make_shared<ShardedBuffer>(mesh, shape, hlo::Sharding(), std::move(tiles),
                                         std::move(parts));
}

}  // namespace

StatusOr<BufferPtr> to_device(Device& device, const Literal& literal, std::string_view what,
                              const UploadOptions& options) {
  const Shape& shape = literal.shape();
  HEDDLE_RETURN_IF_ERROR(check_array(shape));
  if (literal.is_elided()) {
    return base::failed_precondition("upload: a literal of type ", shape,
                                     " whose values were elided as {...}; "
                                     "print the module with its constants in full");
  }
  if (is_mesh(device)) return to_devices(device, literal, hlo::Sharding(), what, options);
  HEDDLE_RETURN_IF_ERROR(TransferGuard::check(Direction::kHostToDevice, shape, what));
  return upload(device, shape, options,
                [&] { return device.backend().copy_to_device(device, literal.bytes(), shape); });
}

StatusOr<BufferPtr> number_to_device(Device& device, const Literal& number) {
  if (device.is_gone()) return gone_error("run", device);
  if (is_mesh(device)) {
    return on_all(device, number.shape(),
                  [&](Device& each) { return number_to_device(each, number); });
  }
  count(&Counters::number_operands);
  return device.backend().copy_to_device(device, number.bytes(), number.shape());
}

StatusOr<BufferPtr> lend_to_device(Device& device, const void* data, const Shape& shape,
                                   std::shared_ptr<const void> owner, std::string_view what,
                                   const UploadOptions& options) {
  HEDDLE_RETURN_IF_ERROR(check_array(shape));
  HEDDLE_RETURN_IF_ERROR(check_data(data, shape));
  if (is_mesh(device)) {
    return on_all(device, shape, [&](Device& each) {
      return lend_to_device(each, data, shape, owner, what, options);
    });
  }
  HEDDLE_RETURN_IF_ERROR(TransferGuard::check(Direction::kHostToDevice, shape, what));
  if (can_lend(data)) {
    HEDDLE_ASSIGN_OR_RETURN(BufferPtr lent,
                            device.backend().borrow(device, data, shape, std::move(owner)));
    if (lent != nullptr) {
      count(&Counters::aliased_bytes, shape.byte_size());
      return lent;
    }
  }
  return upload(device, shape, options,
                [&] { return device.backend().copy_to_device(device, data, shape); });
}

StatusOr<BufferPtr> to_device(Device& device, const StridedArray& array, std::string_view what,
                              const UploadOptions& options) {
  const Shape& shape = array.shape;
  HEDDLE_RETURN_IF_ERROR(check_array(shape));
  if (array.byte_strides.size() != shape.dimensions().size()) {
    return base::invalid_argument("upload: ", shape, " has ", array.byte_strides.size(),
                                  " strides; it must have one a dimension");
  }
  HEDDLE_RETURN_IF_ERROR(check_data(array.data, shape));
  if (is_mesh(device))
    return to_device(device, gathered(array.data, shape, array.byte_strides), what, options);
  HEDDLE_RETURN_IF_ERROR(TransferGuard::check(Direction::kHostToDevice, shape, what));
  return upload(device, shape, options, [&]() -> StatusOr<BufferPtr> {
    Backend& backend = device.backend();
    StatusOr<BufferPtr> buffer =
        backend.copy_strided_to_device(device, array.data, shape, array.byte_strides);
    if (buffer.status().code() != StatusCode::kUnimplemented) return buffer;
    const Literal dense = gathered(array.data, shape, array.byte_strides);
    return backend.copy_to_device(device, dense.bytes(), shape);
  });
}

StatusOr<Literal> to_host(Buffer& buffer, std::string_view what) {
  HEDDLE_RETURN_IF_ERROR(check_download(buffer, what));
  if (ShardedBuffer* sharded = as_sharded(buffer)) {
    return base::within_memory([&] { return assemble(*sharded, what); },
                               "download: ", buffer.shape());
  }
  // Before the memory is asked for: a run that failed may have promised more than there is.
  HEDDLE_RETURN_IF_ERROR(buffer.await());
  const base::Span span(base::Activity::kDownload, {}, {}, buffer.shape().byte_size());
  const auto copy = [&]() -> StatusOr<Literal> {
    Literal literal = Literal::uninitialised(buffer.shape());
    HEDDLE_RETURN_IF_ERROR(buffer.device().backend().copy_to_host(buffer, literal.mutable_bytes()));
    return literal;
  };
  HEDDLE_ASSIGN_OR_RETURN(Literal literal, base::within_memory(copy, "download: ", buffer.shape()));
  count_download(buffer.shape());
  return literal;
}

StatusOr<Download> start_to_host(Buffer& buffer, std::string_view what) {
  HEDDLE_RETURN_IF_ERROR(check_download(buffer, what));
  if (const ShardedBuffer* sharded = as_sharded(buffer)) {
    return base::within_memory([&] { return Download::of_tiles(*sharded, what); },
                               "download: ", buffer.shape());
  }
  const auto start = [&]() -> StatusOr<Download> {
    Literal literal = Literal::uninitialised(buffer.shape());
    HEDDLE_ASSIGN_OR_RETURN(
        std::function<Status()> finish,
        buffer.device().backend().start_copy_to_host(buffer, literal.mutable_bytes()));
    return Download(std::move(literal), [finish = std::move(finish)](Literal& out) {
      const base::Span span(base::Activity::kDownload, {}, {}, out.shape().byte_size());
      HEDDLE_RETURN_IF_ERROR(finish());
      count_download(out.shape());
      return Status();
    });
  };
  return base::within_memory(start, "download: ", buffer.shape());
}

StatusOr<Download> Download::of_tiles(const ShardedBuffer& buffer, std::string_view what) {
  const hlo::Tiles& tiles = buffer.tiles();
  const auto holders = tiles.is_whole() ? std::vector<int64_t>{0} : tiles.holders();
  const auto parts = std::make_shared<std::vector<Download>>();
  for (int64_t holder : holders) {
    HEDDLE_ASSIGN_OR_RETURN(Download part,
                            start_to_host(*buffer.parts()[static_cast<size_t>(holder)], what));
    parts->push_back(std::move(part));
  }
  if (tiles.is_whole()) return std::move((*parts)[0]);
  return Download(Literal::uninitialised(buffer.shape()), [parts, holders, tiles](Literal& out) {
    return place_tiles(
        tiles, holders, [&](size_t i) { return (*parts)[i].await(); }, out);
  });
}

StatusOr<Literal> Download::await() {
  if (finish_ == nullptr) return base::failed_precondition("download: it was waited for before");
  HEDDLE_RETURN_IF_ERROR(std::exchange(finish_, nullptr)(literal_));
  return std::move(literal_);
}

// The bytes come, wanted or not, to memory that has to be there.
Download::~Download() {
  if (finish_ != nullptr) (void)await();
}

StatusOr<Literal> view_on_host(Buffer& buffer, std::string_view what) {
  HEDDLE_RETURN_IF_ERROR(check_download(buffer, what));
  if (const ShardedBuffer* sharded = as_sharded(buffer)) {
    if (sharded->tiles().is_whole()) return view_on_host(*sharded->parts()[0], what);
    return base::unimplemented("view: ", buffer.shape(), " lies in ", sharded->tiles().count(),
                               " tiles on ", buffer.device().name(),
                               "; view its parts(), or read it with to_host()");
  }
  StatusOr<Literal> view = buffer.device().backend().share_with_host(buffer);
  if (view.ok()) count(&Counters::aliased_bytes, buffer.size_bytes());
  return view;
}

}  // namespace heddle::runtime
