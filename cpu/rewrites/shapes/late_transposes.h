// Transposes after what is computed of transposed arrays.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Folds a transposed array in the order in which it lies, and moves transposes past elementwise
// ops and reversals to the folds and products that read them, which take any order:
//   reduce(transpose(x) - broadcast(y))   becomes   reduce(x - broadcast(y))
// Returns nothing where the module has no such array.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> transpose_late(const hlo::Module& module);

}  // namespace heddle::cpu
