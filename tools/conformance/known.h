// Tables of cases that are known to differ.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/base/status.h"

namespace heddle::conformance {

// By name, the cause. Each line is the name, a tab and the cause; those that are empty or begin
// with # are passed over.
// errors   NotFound; InvalidArgument that names the line for one without a cause, a name that
// stands twice, or a cause "by the processor" without its bound
[[nodiscard]] StatusOr<std::map<std::string, std::string>> read_known(const std::string& path);

// "by the processor, within 1e-6: " is how the cause of a case begins that passes on some
// processors and not on others, since a compiler contracts and sums as their instructions allow:
// such a case may pass, and where it does not, no number of it is further off than that. Of all
// other causes, whose cases must fail: none.
std::optional<double> bound_by_the_processor(std::string_view cause);

}  // namespace heddle::conformance
