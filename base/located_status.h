// Errors that know the user's file and line: at the end of the message, and as data in a payload,
// since a text such as "[0:2]" may also be a range.
#pragma once

#include <string>

#include "heddle/base/status.h"

namespace heddle {

// `status` with another message.
[[nodiscard]] Status with_message(const Status& status, const std::string& text);

[[nodiscard]] bool has_location(const Status& status);

// Returns the error with " [place]" at the end of its message. An error with a place keeps its own.
[[nodiscard]] Status with_location(const Status& status, const std::string& place);

}  // namespace heddle
