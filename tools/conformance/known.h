// Tables of cases that are known to differ.
#pragma once

#include <map>
#include <string>

#include "heddle/base/status.h"

namespace heddle::conformance {

// By name, the cause. Each line is the name, a tab and the cause; those that are empty or begin
// with # are passed over.
// errors   NotFound; InvalidArgument that names the line for one without a cause, or a name that
// stands twice
[[nodiscard]] StatusOr<std::map<std::string, std::string>> read_known(const std::string& path);

}  // namespace heddle::conformance
