// Names in files and protos: UTF-8, and what may be shown.
#pragma once

#include <string>
#include <string_view>

namespace heddle::base {

bool is_valid_utf8(std::string_view text);

// The text, with a question mark for each byte that is of no character.
std::string valid_utf8(std::string text);

// Whether a terminal could take a part of it as a command: for names of files' making, which
// messages show.
bool has_control_characters(std::string_view text);

// The text, with \\n, \\t or \\x1b for each of those, and for each byte that is of no character.
std::string printable(std::string_view text);

}  // namespace heddle::base
