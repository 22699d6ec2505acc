// Recording the calls of hlo/calls/debug_calls.h. Private to Heddle.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/trace/tensor.h"

namespace heddle::trace_internal {

// u32[], which nobody needs. On the line of the public function that runs.
Tensor emit_debug_call(std::string_view target, const std::vector<Tensor>& operands,
                       std::string config);
// That line, for `at`.
std::string place_entry();

}  // namespace heddle::trace_internal
