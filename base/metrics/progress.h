// Progress of loops, for people: a bar on a terminal, else a line now and then.
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::debug_internal {

// Step `step` (from 0) of `total` is done; total 0: nobody knows. Writes a line, or on a terminal a
// bar, unless one was written just now.
void show_progress(std::string_view name, int64_t step, int64_t total);

}  // namespace heddle::debug_internal
