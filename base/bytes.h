// Numbers and texts as bytes, for files and sockets. A number is 8 bytes, the lowest first; a text
// has its length before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::base {

inline void append_number(uint64_t number, std::string& to) {
  for (int i = 0; i < 8; ++i) to.push_back(static_cast<char>(number >> (8 * i) & 0xFF));
}

inline void append_text(std::string_view text, std::string& to) {
  append_number(text.size(), to);
  to += text;
}

// These read what append_..() wrote and remove it from the front. They return false if there is too
// little.
inline bool read_number(std::string_view& from, uint64_t& number) {
  if (from.size() < 8) return false;
  number = 0;
  for (size_t i = 8; i-- > 0;) number = number << 8 | static_cast<unsigned char>(from[i]);
  from.remove_prefix(8);
  return true;
}

inline bool read_text(std::string_view& from, std::string_view& text) {
  uint64_t size = 0;
  if (!read_number(from, size) || size > from.size()) return false;
  text = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

}  // namespace heddle::base
