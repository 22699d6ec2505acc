// A backend that does all of its work twice, on two others, and compares: whatever runs on it is a
// test of the second against the first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/runtime/backend.h"

namespace heddle::differential {

// What was compared, and what differed.
struct Findings {
  int programs = 0;
  int results = 0;
  std::vector<std::string> differences;  // each with its program
};

// Has one device. Both devices and `findings` must outlive it.
[[nodiscard]] std::unique_ptr<runtime::Backend> make_backend(runtime::Device& first,
                                                             runtime::Device& second,
                                                             Findings& findings);

// Returns what makes `got` another value than `want`, else an empty text. Floats may differ by
// rounding: by `relative` times the largest magnitude of the array.
[[nodiscard]] std::string difference(const Literal& got, const Literal& want, double relative);

// How far results of a type may be apart when a program's roundings differ.
[[nodiscard]] double tolerance(DType dtype);

}  // namespace heddle::differential
