// Tables of cases that are known to differ.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/base/status.h"

namespace heddle::conformance {

// The cause, by name. Each line is the name, a tab and the cause; empty lines and lines that begin
// with # do not count.
// errors   NotFound; InvalidArgument that names the line for one without a cause, a name that
// stands twice, or a cause "by the processor" without its bound
[[nodiscard]] StatusOr<std::map<std::string, std::string>> read_known(const std::string& path);

// A case may pass on some processors and not on others, since a compiler contracts and sums as
// their instructions allow. Its cause begins with "by the processor, within 1e-6: ". It may pass;
// if it fails, no number may be further off than that. Gives nothing for any other cause: its case
// must fail.
std::optional<double> bound_by_the_processor(std::string_view cause);

}  // namespace heddle::conformance
