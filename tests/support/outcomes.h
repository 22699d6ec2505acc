// What tests ask of a call that may throw.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "heddle/heddle.h"

namespace heddle {

// The message of the Error that fn throws; "no error" where it throws none.
template <class Fn>
std::string error_of(Fn&& fn) {
  try {
    std::forward<Fn>(fn)();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

inline size_t occurrences(std::string_view text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

}  // namespace heddle
