#include "heddle/trace/devices/devices.h"

#include "heddle/runtime/transfer.h"
#include "heddle/trace/error.h"
#include "heddle/trace/node.h"
#include "heddle/trace/public_call.h"

namespace heddle {

namespace {

// Null as getenv() gives it, or a 0 that was meant as a number.
std::string_view named(const char* name) {
  if (name == nullptr) trace_internal::refuse("the name is null; write \"cpu\" or another one");
  return name;
}

}  // namespace

void use_device(const char* name, SourceLocation at) {
  const trace_internal::PublicCall call("use_device", at);
  use_device(named(name), at);
}

std::vector<Device*> devices(const char* name, SourceLocation at) {
  const trace_internal::PublicCall call("devices", at);
  return devices(named(name), at);
}

void use_device(std::string_view name, SourceLocation at) {
  const trace_internal::PublicCall call("use_device", at);
  throw_if_error(base::annotate(set_default_device(name), "use_device: "));
}

std::vector<Device*> devices(std::string_view name, SourceLocation at) {
  const trace_internal::PublicCall call("devices", at);
  StatusOr<runtime::Backend*> backend = runtime::find_backend(name);
  throw_if_error(base::annotate(backend.status(), "devices: "));
  std::vector<Device*> out;
  for (const auto& device : (**backend).devices()) out.push_back(device.get());
  return out;
}

Device& DeviceOrName::find(std::string_view op) const {
  if (device_ != nullptr) return *device_;
  if (name_.data() == nullptr)
    trace_internal::refuse("the device is null; name one, or take one of devices()");
  StatusOr<Device*> device = runtime::find_device(name_);
  throw_if_error(
      base::annotate(device.status(), trace_internal::PublicCall::function_or(op), ": "));
  return **device;
}

Device& device_of(const Tensor& x, SourceLocation at) {
  const trace_internal::PublicCall call("device_of", at);
  return trace_internal::buffer_of(x, "device_of")->device();
}

namespace trace_internal {
namespace {

Tensor moved(const Tensor& x, Device& device, const std::string& path) {
  const runtime::BufferPtr buffer = buffer_of(x, "device_put", "x" + path);
  if (&buffer->device() == &device) return x;
  const std::string op = path.empty() ? "device_put" : base::cat("device_put of x", path);
  const Literal value = value_or_throw(runtime::to_host(*buffer, op));
  return tensor_of(value_or_throw(runtime::to_device(device, value, op)));
}

}  // namespace

std::vector<Tensor> leaves_on(std::span<const Tensor> leaves, const TreeSpec& spec,
                              const DeviceOrName& device) {
  Device& target = device.find("device_put");
  const std::vector<std::string> paths = leaf_paths(spec);
  std::vector<Tensor> out;
  for (size_t i = 0; i < leaves.size(); ++i) out.push_back(moved(leaves[i], target, paths[i]));
  return out;
}

}  // namespace trace_internal

}  // namespace heddle
