// What the options .checkpoint of loops say. Private to scan/.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "heddle/scan/scan.h"

namespace heddle::scan_internal {

// As it is written: every(4).
std::string to_string(const Checkpoint& checkpoint);

// errors: Error if its number is below 1
void require_valid(const Checkpoint& checkpoint);

// The frontend attribute of a loop of so many steps that has this checkpoint: the lengths of its
// blocks. For recursive(3) of 1,000 steps they are 100,10. Roots are rounded up.
std::pair<std::string, std::string> attribute_of(const Checkpoint& checkpoint, int64_t steps);

}  // namespace heddle::scan_internal
