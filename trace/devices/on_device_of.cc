#include "heddle/trace/devices/on_device_of.h"

#include "heddle/trace/node.h"
#include "heddle/trace/recorder.h"

namespace heddle::trace_internal {

void OnDeviceOf::look(const Tensor& tensor) {
  if (device_ || Recorder::current() != nullptr || !tensor.is_valid()) return;
  const runtime::BufferPtr& buffer = tensor.node()->buffer;
  if (buffer != nullptr) device_.emplace(buffer->device());
}

}  // namespace heddle::trace_internal
