#include "heddle/trace/run/exchange.h"

#include "heddle/base/text/strings.h"
#include "heddle/runtime/registry.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/recorder.h"

namespace heddle {
namespace {

using runtime::BufferPtr;
using trace_internal::buffer_of;
using trace_internal::PublicCall;

// Memory is of devices, and while a function is traced there are none.
void require_no_trace(std::string_view op) {
  if (trace_internal::Recorder::current() == nullptr) return;
  throw Error(trace_internal::failed_precondition(
      op,
      ": called inside a trace, where tensors have no memory; call it before the "
      "trace and capture the tensor, or make a constant with array(..)"));
}

void check_array(std::string_view op, const Shape& shape) {
  if (!shape.is_array()) {
    trace_internal::refuse("the shape is ", shape, "; it must be that of an array");
  }
  throw_if_error(base::annotate(check_shape(shape), PublicCall::function_or(op), ": "));
}

Device& device_by_default() { return *value_or_throw(runtime::find_default_device()); }

Tensor made(StatusOr<BufferPtr> buffer) {
  return trace_internal::tensor_of(value_or_throw(std::move(buffer)));
}

}  // namespace

Tensor lend(const void* data, const Shape& shape, MemoryOwner owner, SourceLocation at) {
  const PublicCall call("lend", at);
  require_no_trace("lend");
  check_array("lend", shape);
  return made(
      runtime::lend_to_device(device_by_default(), data, shape, std::move(owner).take(), "lend"));
}

Tensor trace_internal::lend_values(const void* data, size_t count, const Shape& shape,
                                   MemoryOwner owner, SourceLocation at) {
  const PublicCall call("lend", at);
  check_array("lend", shape);
  if (static_cast<size_t>(shape.element_count()) != count) {
    trace_internal::refuse("has ", count, " values; ", to_string(shape), " takes ",
                           shape.element_count());
  }
  return lend(data, shape, std::move(owner));
}

Tensor from_strided(const void* data, const Shape& shape, const base::Ints& byte_strides,
                    SourceLocation at) {
  const PublicCall call("from_strided", at);
  require_no_trace("from_strided");
  check_array("from_strided", shape);
  const std::vector<int64_t> in_elements = row_major_strides(shape.dimensions());
  if (byte_strides == base::Ints(in_elements) && storage_bytes(shape.dtype()) > 1 &&
      shape.element_count() > 1) {
    trace_internal::refuse("byte_strides are {", base::join(in_elements, ", "),
                           "}, which are those of ", shape, " in elements; they are in bytes, of ",
                           storage_bytes(shape.dtype()), " an element");
  }
  const runtime::StridedArray array{.data = data, .shape = shape, .byte_strides = byte_strides};
  return made(runtime::to_device(device_by_default(), array, "from_strided"));
}

Literal host_view(const Tensor& x, SourceLocation at) {
  const PublicCall call("host_view", at);
  return value_or_throw(runtime::view_on_host(*buffer_of(x, "host_view"), "host_view"));
}

HostCopy start_download(const Tensor& x, SourceLocation at) {
  const PublicCall call("start_download", at);
  return HostCopy(
      value_or_throw(runtime::start_to_host(*buffer_of(x, "start_download"), "start_download")));
}

Literal HostCopy::await(SourceLocation at) { return value_or_throw(download_.await(), at); }

dlpack::ManagedTensor* to_dlpack(const Tensor& x, SourceLocation at) {
  const PublicCall call("to_dlpack", at);
  return value_or_throw(runtime::to_dlpack(*buffer_of(x, "to_dlpack"), "to_dlpack"));
}

Tensor from_dlpack(dlpack::ManagedTensor* array, SourceLocation at) {
  const PublicCall call("from_dlpack", at);
  require_no_trace("from_dlpack");
  return made(runtime::from_dlpack(device_by_default(), array, "from_dlpack"));
}

BufferPtr device_buffer(const Tensor& x, SourceLocation at) {
  const PublicCall call("device_buffer", at);
  return buffer_of(x, "device_buffer");
}

Tensor from_buffer(BufferPtr buffer, SourceLocation at) {
  const PublicCall call("from_buffer", at);
  if (buffer == nullptr) {
    trace_internal::refuse("there is no buffer; give one of a device");
  }
  return trace_internal::tensor_of(std::move(buffer));
}

}  // namespace heddle
