// Text as JSON.
#pragma once

#include <string>
#include <string_view>

namespace heddle::base {

// The text as a JSON string, quotes and escapes included. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

}  // namespace heddle::base
