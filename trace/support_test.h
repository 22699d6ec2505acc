// What unit tests ask of a call that may throw, and of a tensor.
#pragma once

#include <string>
#include <utility>
#include <vector>

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

// The elements, whatever their dtype.
inline std::vector<double> doubles(const Tensor& x) { return x.to_vector<double>(); }
inline std::vector<int> ints(const Tensor& x) { return x.to_vector<int>(); }

}  // namespace heddle
