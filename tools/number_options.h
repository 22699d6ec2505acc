// Numbers of the command line.
#pragma once

#include <cstdint>

#include "CLI/CLI.hpp"

namespace heddle::tools {

// A whole number, `least` or more and at most `most`; else a sentence that says so.
CLI::Validator at_least(int64_t least, int64_t most = INT32_MAX);
// A finite number above 0.
CLI::Validator above_zero();

}  // namespace heddle::tools
