// What tests across folders ask of a call and of its text.
#pragma once

#include <string_view>

#include "heddle/heddle.h"
#include "heddle/trace/support_test.h"

namespace heddle {

inline size_t occurrences(std::string_view text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size()))
    ++count;
  return count;
}

}  // namespace heddle
