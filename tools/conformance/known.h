// Tables of cases that are known to differ.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "heddle/base/status.h"

namespace heddle::conformance {

// By name, the cause. Each line is the name, a tab and the cause; those that are empty or begin
// with # are passed over.
// errors   NotFound; InvalidArgument that names the line for one without a cause, or a name that
// stands twice
[[nodiscard]] StatusOr<std::map<std::string, std::string>> read_known(const std::string& path);

// How the cause of a case begins that passes on some processors and not on others, since a compiler
// contracts and sums as their instructions allow: of all others one that passes is a mistake in the
// table.
constexpr std::string_view kByTheProcessor = "by the processor: ";

}  // namespace heddle::conformance
