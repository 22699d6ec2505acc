// Where bytes move: the one pair of functions between host and device, for every backend. They
// count calls and bytes (base/metrics/counters.h) and obey the TransferGuard in force.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/runtime/backend.h"
#include "heddle/runtime/upload_options.h"

namespace heddle::runtime {

class ShardedBuffer;

// Memory that is lent has to start at a multiple of this.
inline constexpr size_t kLendAlignment = 64;

// An array in host memory that need not be row-major: a slice, a transposed matrix, a broadcast.
struct StridedArray {
  const void* data = nullptr;         // the element at 0, 0, ..
  Shape shape;                        // what it is on the device, row-major
  std::vector<int64_t> byte_strides;  // a step along each dimension; negative and 0 too
};

// Copies an array to the device. The literal may change or go once this has returned. An empty
// array counts 1 upload of 0 bytes.
//
// what     who asks, for the guard's message: "array", "scan init.h"
// errors   FailedPrecondition under a guard, for an elided literal, or where the device's backend
// is
//          gone; InvalidArgument for a tuple; Unavailable where there is no room and the options
//          forbid to wait; else the backend's
[[nodiscard]] StatusOr<BufferPtr> to_device(Device& device, const Literal& literal,
                                            std::string_view what = "",
                                            const UploadOptions& options = {});

// Puts a C++ number, of at most 64 bytes, on a device: an argument of a run, as the program's own
// constants are part of it. Counted in `number_operands`; a guard does not forbid it.
// errors   FailedPrecondition where the device's backend is gone; else the backend's
[[nodiscard]] StatusOr<BufferPtr> number_to_device(Device& device, const Literal& number);

// The same from memory with strides.
// errors   InvalidArgument too, for strides of another number than dimensions
[[nodiscard]] StatusOr<BufferPtr> to_device(Device& device, const StridedArray& array,
                                            std::string_view what = "",
                                            const UploadOptions& options = {});

// Lends host memory to the device, or to every device of a mesh, without a copy: row-major bytes,
// which must not change while `owner` is held. Copies (and counts an upload, which may wait for
// room) where the memory is not aligned to kLendAlignment or the backend cannot use it. A program
// never writes to lent memory.
//
// errors   as to_device(): a guard forbids lending too, since another backend would copy
// cost     aliased_bytes grows by the size, or upload_bytes where it was copied; on a mesh for each
//          device
[[nodiscard]] StatusOr<BufferPtr> lend_to_device(Device& device, const void* data,
                                                 const Shape& shape,
                                                 std::shared_ptr<const void> owner,
                                                 std::string_view what = "",
                                                 const UploadOptions& options = {});

// Waits for the buffer and copies it to the host. An empty array counts 1 download of 0 bytes.
//
// errors   FailedPrecondition under a guard (before any wait), for a deleted buffer, or where the
//          device's backend is gone; the error of the run that made the buffer
[[nodiscard]] StatusOr<Literal> to_host(Buffer& buffer, std::string_view what = "");

// A download on its way. Counted when it is done; it is waited for where it is dropped.
class Download {
 public:
  Download(Download&& from) noexcept
      : literal_(std::move(from.literal_)), finish_(std::exchange(from.finish_, nullptr)) {}
  Download& operator=(Download&&) = delete;
  ~Download();

  // Waits for the bytes. Once.
  // errors   that of the run that should have made them, or of the transfer
  [[nodiscard]] StatusOr<Literal> await();

 private:
  friend StatusOr<Download> start_to_host(Buffer&, std::string_view);
  // Waits for the bytes of the literal, and counts them.
  using Finish = std::function<Status(Literal&)>;
  Download(Literal literal, Finish finish)
      : literal_(std::move(literal)), finish_(std::move(finish)) {}
  static StatusOr<Download> of_tiles(const ShardedBuffer& buffer, std::string_view what);

  Literal literal_;  // the bytes are on their way to it
  Finish finish_;
};

// Starts a copy to the host and returns at once, as far as the backend can. The buffer may be
// dropped or released meanwhile. Of a buffer of a mesh each tile is a download, and they run at the
// same time.
//
// errors   as to_host()
[[nodiscard]] StatusOr<Download> start_to_host(Buffer& buffer, std::string_view what = "");

// Waits for the buffer and returns a literal that shares its memory. The memory stays as long as
// the literal, also where the buffer is released; a run that is given the buffer meanwhile writes
// elsewhere. A literal that is written to copies first.
//
// errors   as to_host(), also under a guard, since on another backend it would be a copy;
//          Unimplemented where the host cannot read the memory as it is, as that of an array that
//          a mesh has in several tiles; each of ShardedBuffer::parts() has a view of its own
// cost     aliased_bytes grows by the size
[[nodiscard]] StatusOr<Literal> view_on_host(Buffer& buffer, std::string_view what = "");

}  // namespace heddle::runtime
