#include "heddle/base/text/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace heddle::base {
namespace {

// How many bytes at the front are plain ASCII, in whole words of 8.
size_t plain_length(std::string_view text) {
  size_t i = 0;
  for (uint64_t word = 0; i + sizeof word <= text.size(); i += sizeof word) {
    std::memcpy(&word, text.data() + i, sizeof word);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  return i;
}

}  // namespace

size_t character_size(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned char first = byte(i);
  if (first < 0x80) return 1;
  size_t length = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  unsigned char second = byte(i + 1);
  bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  bool out_of_range = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || out_of_range ? 0 : length;
}

bool is_valid_utf8(std::string_view text) {
  size_t i = plain_length(text);
  while (i < text.size()) {
    const size_t length = character_size(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string valid_utf8(std::string text) {
  for (size_t i = plain_length(text); i < text.size();) {
    size_t length = character_size(text, i);
    if (length == 0) text[i] = '?';
    i += length == 0 ? 1 : length;
  }
  return text;
}

bool has_control_characters(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return true;
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) return true;  // U+0080 to U+009F
  }
  return false;
}

std::string printable(std::string_view text) {
  if (is_valid_utf8(text) && !has_control_characters(text)) return std::string(text);
  std::string out;
  for (size_t i = 0, length = 0; i < text.size(); i += length) {
    length = std::max<size_t>(character_size(text, i), 1);
    const std::string_view character = text.substr(i, length);
    if (is_valid_utf8(character) && !has_control_characters(character)) {
      out.append(character);
    } else if (character == "\n" || character == "\t") {
      out.append(character == "\n" ? "\\n" : "\\t");
    } else {
      constexpr std::string_view kDigits = "0123456789abcdef";
      for (const char c : character) {
        const auto byte = static_cast<unsigned char>(c);
        out.append({'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]});
      }
    }
  }
  return out;
}

}  // namespace heddle::base
