// Text as UTF-8, which names in files and protos are.
#pragma once

#include <string>
#include <string_view>

namespace heddle::base {

bool is_valid_utf8(std::string_view text);

// The text, with a question mark for each byte that is of no character.
std::string valid_utf8(std::string text);

}  // namespace heddle::base
