// Errors that know the user's file and line.
#pragma once

#include <string_view>

#include "heddle/base/status.h"

namespace heddle {

[[nodiscard]] bool has_location(const Status& status);

// Returns the error with " [place]" at the end of its message. An error with a place keeps its own.
[[nodiscard]] Status with_location(Status status, std::string_view place);

}  // namespace heddle
