#include "heddle/base/text/json.h"

#include <cstdio>

#include "heddle/base/text/utf8.h"

namespace heddle::base {

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (const size_t size = character_size(text, i); size != 1) {
      out += size == 0 ? "\\ufffd" : text.substr(i, size);
      i += size > 0 ? size - 1 : 0;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace heddle::base
