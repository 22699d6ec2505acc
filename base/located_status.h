// Errors that know the user's file and line: in their message's end and, as a payload, as data. A
// text such as "[0:2]" may also be a range.
#pragma once

#include <string>

#include "heddle/base/status.h"

namespace heddle {

// An error with another message and what else `status` carries.
[[nodiscard]] Status with_message(const Status& status, const std::string& text);

[[nodiscard]] bool has_location(const Status& status);

// Returns the error with " [place]" at the end of its message; one that has a place keeps it.
[[nodiscard]] Status with_location(const Status& status, const std::string& place);

}  // namespace heddle
