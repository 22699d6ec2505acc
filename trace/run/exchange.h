// Tensors and host memory: arrays that host and device share, copies of strided ones, reads that do
// not wait, and DLPack, in which other libraries' arrays come and go.
//
//   Tensor x = lend(std::span(samples), {1024, 64}, [&] { pool.give_back(); });
//   HostCopy loss = start_download(y);              // the next step starts meanwhile
//   Literal seen = host_view(z);                    // z's own memory, where the host can read it
//   dlpack::ManagedTensor* out = to_dlpack(z);      // for their from_dlpack()
//
// All of it is counted (base/metrics/counters.h) and obeys the TransferGuard in force. New tensors
// are on the default device. A traced value has no memory: to ask for it is an error, as is lending
// inside a trace.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/source_location.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/shape.h"
#include "heddle/runtime/dlpack.h"
#include "heddle/runtime/transfer.h"
#include "heddle/trace/tensor.h"

namespace heddle {

namespace dlpack = runtime::dlpack;

// Who keeps lent memory: a shared_ptr, which is held, or a function that is called once when nobody
// reads the memory any more; on any thread, and it may not throw. Null for memory that never goes.
class MemoryOwner {
 public:
  MemoryOwner(std::nullptr_t) {}
  template <class T>
  MemoryOwner(std::shared_ptr<T> owner) : owner_(std::move(owner)) {}
  template <std::invocable Release>
  MemoryOwner(Release release) : owner_(std::make_shared<AtEnd<Release>>(std::move(release))) {}

  [[nodiscard]] std::shared_ptr<const void> take() && { return std::move(owner_); }

 private:
  template <class Release>
  struct AtEnd {
    explicit AtEnd(Release call) : release(std::move(call)) {}
    AtEnd(const AtEnd&) = delete;
    AtEnd& operator=(const AtEnd&) = delete;
    ~AtEnd() { release(); }
    Release release;
  };
  std::shared_ptr<const void> owner_;
};

// A tensor that uses host memory where it is: row-major, 64-byte aligned
// (runtime::kLendAlignment), of elements as Literal has them (types under 8 bits take a byte each).
// It must not change while `owner` is held: until the tensor, its views and the runs that use it
// are gone. Programs never write to it, also where it is donated. Where the memory is not aligned,
// or the device has its own, it is copied, and `owner` is let go of as soon as that is done.
//
// errors   Error: InvalidArgument for a shape that is none, another number of values than it takes,
//          or null; FailedPrecondition under a TransferGuard, or inside a trace. `owner` is let go
//          of
// cost     aliased_bytes grows by the size; for a copy uploads and upload_bytes
Tensor lend(const void* data, const Shape& shape, MemoryOwner owner,
            SourceLocation at = SourceLocation::here());
template <class T, size_t N>
requires trace_internal::kIsNumber<std::remove_const_t<T>> Tensor
lend(std::span<T, N> values, const base::Ints& shape, MemoryOwner owner,
     SourceLocation at = SourceLocation::here());

// A tensor from host memory that is not row-major: a slice, a transposed matrix, a broadcast.
// `data` is the element at 0, 0, ..; a step along axis i is byte_strides[i] bytes, which may be
// negative or 0. An upload, counted: the memory may change afterwards.
//
// errors   Error: InvalidArgument for a shape that is none, strides of another number than axes, or
//          null; FailedPrecondition under a TransferGuard, or inside a trace
Tensor from_strided(const void* data, const Shape& shape, const base::Ints& byte_strides,
                    SourceLocation at = SourceLocation::here());
// Of numbers that stand for elements of another dtype, as uint16_t for those of bf16.
template <class T, std::same_as<Shape> Whole>  // {} is a list
requires trace_internal::kIsNumber<T> Tensor
from_strided(const T* data, const Whole& shape, const base::Ints& byte_strides,
             SourceLocation at = SourceLocation::here()) {
  return from_strided(static_cast<const void*>(data), shape, byte_strides, at);
}
// Of numbers, whose dtype the array has.
template <class T>
requires trace_internal::kIsNumber<T> Tensor
from_strided(const T* data, const base::Ints& shape, const base::Ints& byte_strides,
             SourceLocation at = SourceLocation::here()) {
  return from_strided(static_cast<const void*>(data), Shape(trace_internal::dtype_of<T>(), shape),
                      byte_strides, at);
}

// Waits for x and shows its memory: a literal of its shape and dtype that holds the memory as long
// as it lives, also where x is dropped or donated meanwhile. A literal that is written to copies
// first.
//
// errors   Error: FailedPrecondition for a traced, placeholder or donated tensor, or under a
//          TransferGuard; Unimplemented where the host cannot read the memory, as that of an array
//          in several tiles: read it with to_literal(); that of the run that should have made x
// cost     aliased_bytes grows by the size; nothing is copied
[[nodiscard]] Literal host_view(const Tensor& x, SourceLocation at = SourceLocation::here());

// A read that is on its way. It is waited for where it is dropped.
class HostCopy {
 public:
  // Waits for the bytes; once. errors: Error: that of the run that should have made them, or of the
  // copy; FailedPrecondition for the second time
  [[nodiscard]] Literal await(SourceLocation at = SourceLocation::here());

  explicit HostCopy(runtime::Download download) : download_(std::move(download)) {}

 private:
  runtime::Download download_;
};

// Starts a copy of x to the host and returns at once, also where x is pending, as far as its device
// can. x may be dropped or donated meanwhile.
//
// errors   Error: FailedPrecondition for a traced, placeholder or donated tensor, or under a
//          TransferGuard
// cost     a download of its bytes, counted when it is there
[[nodiscard]] HostCopy start_download(const Tensor& x, SourceLocation at = SourceLocation::here());

// Waits for x and hands out its memory as DLPack's structure, for other libraries: a host_view()
// that stays until the receiver calls the deleter, which it must. Nobody may write to it. It has
// the layout of DLManagedTensor: reinterpret_cast it to that.
//
// errors   Error: as host_view(); Unimplemented for a dtype that DLPack has no code for (8-bit
//          floats and types under 8 bits)
[[nodiscard]] dlpack::ManagedTensor* to_dlpack(const Tensor& x,
                                               SourceLocation at = SourceLocation::here());

// A tensor that uses another library's array, as lend(): copied where it is not row-major or not
// aligned. `array` is this function's once it succeeds; its deleter is called when the memory is no
// longer used, on any thread.
//
// errors   Error, which leaves `array` the caller's: InvalidArgument for null or a shape that is
//          none; Unimplemented for memory that is not the host's, or elements that Heddle has not;
//          else as lend()
Tensor from_dlpack(dlpack::ManagedTensor* array, SourceLocation at = SourceLocation::here());

// The array on the device behind a concrete tensor, for the functions of runtime/ and pjrt/; and a
// tensor of one. Neither moves a byte.
// errors: Error (FailedPrecondition) for a traced, placeholder or donated tensor; (InvalidArgument)
// for no buffer
[[nodiscard]] runtime::BufferPtr device_buffer(const Tensor& x,
                                               SourceLocation at = SourceLocation::here());
// A tensor of an array on a device.
[[nodiscard]] Tensor from_buffer(runtime::BufferPtr buffer,
                                 SourceLocation at = SourceLocation::here());

namespace trace_internal {

// errors: throws Error where the shape takes another number of elements
Tensor lend_values(const void* data, size_t count, const Shape& shape, MemoryOwner owner,
                   SourceLocation at);

}  // namespace trace_internal

template <class T, size_t N>
requires trace_internal::kIsNumber<std::remove_const_t<T>> Tensor lend(std::span<T, N> values,
                                                                       const base::Ints& shape,
                                                                       MemoryOwner owner,
                                                                       SourceLocation at) {
  return trace_internal::lend_values(
      values.data(), values.size(),
      Shape(trace_internal::dtype_of<std::remove_const_t<T>>(), shape), std::move(owner), at);
}

}  // namespace heddle
