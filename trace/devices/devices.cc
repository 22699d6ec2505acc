#include "heddle/trace/devices/devices.h"

#include "heddle/runtime/transfer.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"

namespace heddle {

void use_device(std::string_view name, SourceLocation at) {
  const trace_internal::PublicCall call("use_device", at);
  throw_if_error(base::annotate(set_default_device(name), "use_device: "), at);
}

std::vector<Device*> devices(std::string_view name, SourceLocation at) {
  const trace_internal::PublicCall call("devices", at);
  StatusOr<runtime::Backend*> backend = runtime::find_backend(name);
  throw_if_error(base::annotate(backend.status(), "devices: "), at);
  std::vector<Device*> out;
  for (const auto& device : (**backend).devices()) out.push_back(device.get());
  return out;
}

Device& DeviceOrName::find(std::string_view op, SourceLocation at) const {
  if (device_ != nullptr) return *device_;
  if (name_.data() == nullptr)
    throw Error(trace_internal::invalid_argument(
                    op, ": the device is null; name one, or take one of devices()"),
                at);
  StatusOr<Device*> device = runtime::find_device(name_);
  throw_if_error(base::annotate(device.status(), trace_internal::PublicCall::function_or(op), ": "),
                 at);
  return **device;
}

Device& device_of(const Tensor& x, SourceLocation at) {
  const trace_internal::PublicCall call("device_of", at);
  return trace_internal::buffer_of(x, "device_of", at)->device();
}

namespace trace_internal {
namespace {

Tensor moved(const Tensor& x, Device& device, const std::string& op, SourceLocation at) {
  const runtime::BufferPtr buffer = buffer_of(x, op, at);
  if (&buffer->device() == &device) return x;
  const Literal value = value_or_throw(runtime::to_host(*buffer, op), at);
  return tensor_of(value_or_throw(runtime::to_device(device, value, op), at), at);
}

}  // namespace

std::vector<Tensor> leaves_on(std::span<const Tensor> leaves, const TreeSpec& spec,
                              const DeviceOrName& device, SourceLocation at) {
  Device& target = device.find("device_put", at);
  const std::vector<std::string> paths = leaf_paths(spec);
  std::vector<Tensor> out;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const std::string op = paths[i].empty() ? "device_put" : base::cat("device_put of x", paths[i]);
    out.push_back(moved(leaves[i], target, op, at));
  }
  return out;
}

}  // namespace trace_internal

}  // namespace heddle
