// Names in files and protos: whether they are UTF-8, and whether they may be shown.
#pragma once

#include <string>
#include <string_view>

namespace heddle::base {

// How many bytes the UTF-8 character takes that starts at text[i]; 0 if there is none.
size_t character_size(std::string_view text, size_t i);

bool is_valid_utf8(std::string_view text);

// The text, with a question mark for each byte outside of a character.
std::string valid_utf8(std::string text);

// Whether a terminal could take a part of it as a command. It is for names from files, which
// messages show.
bool has_control_characters(std::string_view text);

// The text, with \\n, \\t or \\x1b for each control character, and for each byte outside of a
// character.
std::string printable(std::string_view text);

}  // namespace heddle::base
