// What unit tests ask of a call that may throw.
#pragma once

#include <string>
#include <utility>

#include "heddle/trace/error.h"

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

}  // namespace heddle
