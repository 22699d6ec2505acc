// Repeated elements after what is computed of them.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Moves the reshape of a broadcast, which repeat() and tile() are, past elementwise ops whose other
// operands are numbers or repeated in the same way:
//   repeat(x) * 2 + repeat(y)   becomes   repeat(x * 2 + y)
// Returns nothing where the module has no such op.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> repeat_late(const hlo::Module& module);

}  // namespace heddle::cpu
