// Devices by name, with the error as an exception. runtime/registry.h has the same as a Status.
//
//   use_device("pjrt:cuda:1");                             // where new tensors go from now on
//   Mesh mesh({{"data", 4}}, devices("pjrt:xla-cpu"));
//   Params there = device_put(params, "pjrt:cuda:1");      // a tensor, or a tree of them
//
// The environment variable HEDDLE_DEVICE=pjrt:cuda:1 says it for a program that says nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/runtime/registry.h"
#include "heddle/trace/tensor.h"
#include "heddle/trace/tree.h"

namespace heddle {

// Makes `name` ("interpreter", "pjrt:xla-cpu", "pjrt:xla-cpu:1") the default device of the process.
// errors   Error that lists the backends there are; or what is wrong with the plugin or the number
void use_device(std::string_view name, SourceLocation at = SourceLocation::here());
void use_device(const char* name, SourceLocation at = SourceLocation::here());  // null: an error

// The devices of the backend `name`, in their order; they live as long as the process.
// errors   as use_device()
[[nodiscard]] std::vector<Device*> devices(std::string_view name,
                                           SourceLocation at = SourceLocation::here());
[[nodiscard]] std::vector<Device*> devices(const char* name,
                                           SourceLocation at = SourceLocation::here());

// A device, or the name of one ("interpreter", "pjrt:cuda:1").
class DeviceOrName {
 public:
  DeviceOrName(Device& device) : device_(&device) {}
  DeviceOrName(Device* device) : device_(device) {}
  DeviceOrName(const char* name) {  // null as getenv() gives it: the name of no device
    if (name != nullptr) name_ = name;
  }
  DeviceOrName(std::string_view name) : name_(name) {}
  DeviceOrName(const std::string& name) : name_(name) {}
  // errors: Error (NotFound) that lists the backends there are; (InvalidArgument) for null
  [[nodiscard]] Device& find(std::string_view op) const;

 private:
  Device* device_ = nullptr;
  std::string_view name_;
};

namespace trace_internal {
std::vector<Tensor> leaves_on(std::span<const Tensor> leaves, const TreeSpec& spec,
                              const DeviceOrName& device);
}  // namespace trace_internal

// The tensor, or the tree with each of its tensors, on `device`. One that is there already is
// returned as it is: no copy, the same value. Others are copied through the host: a download and an
// upload each, counted.
//
// errors   Error: NotFound that lists the backends there are; FailedPrecondition for a traced,
//          placeholder or donated tensor, by its path, or under a TransferGuard
template <TensorTree T>
[[nodiscard]] T device_put(const T& tree, const DeviceOrName& device,
                           SourceLocation at = SourceLocation::here()) {
  const trace_internal::PublicCall call("device_put", at);
  const TreeSpec spec = tree_spec(tree);
  const std::vector<Tensor> leaves = trace_internal::leaves_on(flatten(tree), spec, device);
  std::span<const Tensor> rest(leaves);
  return unflatten<T>(spec, rest);
}

// The device that a concrete tensor is on. errors: Error (FailedPrecondition) for a traced,
// placeholder or donated tensor
[[nodiscard]] Device& device_of(const Tensor& x, SourceLocation at = SourceLocation::here());

}  // namespace heddle
