// What unit tests ask of a call that may throw, and of a tensor.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/base/text/strings.h"
#include "heddle/trace/error.h"
#include "heddle/trace/tensor.h"

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

// "[some_test.cc:LINE]" of the statement that calls this, as messages end.
inline std::string here(SourceLocation at = SourceLocation::here()) {
  return base::cat("[", to_string(at), "]");
}

// The elements, whatever their dtype.
inline std::vector<double> doubles(const Tensor& x) { return x.to_vector<double>(); }
inline std::vector<int> ints(const Tensor& x) { return x.to_vector<int>(); }

}  // namespace heddle
