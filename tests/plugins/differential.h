// A backend that does all of its work twice, on two others, and compares, element by element as the
// conformance corpora are (conformance::tolerance_of): whatever runs on it is a test of the second
// against the first.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "heddle/runtime/backend.h"

namespace heddle::differential {

// What was compared, and what differed.
struct Findings {
  int programs = 0;
  int results = 0;
  std::vector<std::string> differences;  // each with its program
  double relative = 0;                   // what floats of the next runs may differ by, at least
  // Programs whose f64 results are what is left of sums that cancel, and what these may differ by.
  std::set<std::string> cancelling = {};
  double left = 0;
};

// Has one device. Both devices and `findings` must outlive it.
[[nodiscard]] std::unique_ptr<runtime::Backend> make_backend(runtime::Device& first,
                                                             runtime::Device& second,
                                                             Findings& findings);

}  // namespace heddle::differential
