// The ranges of options. Each function throws Error that names the option, its value and the range,
// under the public function that runs.
#pragma once

#include <cmath>
#include <string_view>

#include "heddle/trace/public_call.h"

namespace heddle::optim_internal {

template <class Number>
void require(bool is_in_range, std::string_view option, Number value, std::string_view range) {
  if (!is_in_range) trace_internal::refuse(option, " is ", value, "; it must be ", range);
}
inline void require_finite(std::string_view option, double value) {
  require(std::isfinite(value), option, value, "finite");
}
inline void require_not_negative(std::string_view option, double value) {
  require(std::isfinite(value) && value >= 0, option, value, "finite, and 0 or greater");
}

}  // namespace heddle::optim_internal
