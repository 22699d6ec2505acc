// Four devices of real XLA's CPU plugin.
#pragma once

#include <memory>
#include <vector>

#include "heddle/pjrt/plugin.h"
#include "heddle/tests/plugins/xla_cpu.h"

namespace heddle {

// They live as long as the process, as meshes do. None where there is no plugin.
inline const std::vector<runtime::Device*>& four_xla_devices() {
  static const auto& devices = *new std::vector<runtime::Device*>([] {
    std::vector<runtime::Device*> out;
    if (xla_cpu_library().empty()) return out;
    auto& backend =
        *pjrt::make_backend("xla-cpu", {.library = xla_cpu_library(),
                                        .create_options = {{"cpu_device_count", int64_t{4}}}})
             .value()
             .release();
    for (const auto& device : backend.devices()) out.push_back(device.get());
    return out;
  }());
  return devices;
}

}  // namespace heddle
