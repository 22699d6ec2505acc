// Runs whole modules on a device, synchronously: upload, execute, download.
#pragma once

#include "heddle/runtime/backend.h"
#include "heddle/tools/conformance/run.h"

namespace heddle::conformance {

// Arguments by parameter number, tuples as they are; the result as one literal of the root's type.
// errors   those of the backend
[[nodiscard]] StatusOr<Literal> run_on_device(runtime::Device& device, const hlo::Module& module,
                                              const std::vector<Literal>& arguments);

// run_on_device() with the device bound. The device must outlive it.
[[nodiscard]] RunModule on_device(runtime::Device& device);

}  // namespace heddle::conformance
