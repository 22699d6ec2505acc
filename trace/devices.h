// Devices by name, with the error as an exception. runtime/registry.h has the same as a Status.
//
//   use_device("pjrt:cuda:1");                             // where new tensors go from now on
//   Mesh mesh({{"data", 4}}, devices("pjrt:xla-cpu"));
//
// The environment variable HEDDLE_DEVICE=pjrt:cuda:1 says it for a program that says nothing.
#pragma once

#include <string_view>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/runtime/registry.h"

namespace heddle {

// Makes `name` ("interpreter", "pjrt:xla-cpu", "pjrt:xla-cpu:1") the default device of the process.
// errors   Error that lists the backends there are; or what is wrong with the plugin or the number
void use_device(std::string_view name, SourceLocation at = SourceLocation::here());

// The devices of the backend `name`, in their order; they live as long as the process.
// errors   as use_device()
[[nodiscard]] std::vector<Device*> devices(std::string_view name,
                                           SourceLocation at = SourceLocation::here());

}  // namespace heddle
