// What using an object says that was moved from and refers to nothing since. Private to Heddle.
#pragma once

#include <string_view>

#include "heddle/base/source_location.h"

namespace heddle::trace_internal {

// errors: throws Error (FailedPrecondition) "op: the program was moved from and is empty; .."
[[noreturn]] void throw_moved_from(std::string_view op, std::string_view what, SourceLocation at);

}  // namespace heddle::trace_internal
