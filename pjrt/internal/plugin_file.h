// Plugins described by JSON files.
#pragma once

#include <string>

#include "heddle/base/status.h"
#include "heddle/pjrt/plugin.h"

namespace heddle::pjrt {

// Reads one.
// errors   NotFound; InvalidArgument with the path and what is wrong in it
[[nodiscard]] StatusOr<DevicePlugin> read_plugin_file(const std::string& path);

}  // namespace heddle::pjrt
