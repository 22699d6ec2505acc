// Complex arrays that are only moved.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Moves the elements of c64 arrays as u64, real and imaginary part together, where they come from
// the program's inputs, constants and kernels, and go to its outputs and to kernels: slices,
// rolls, transposes, updates, gathers, and chains of these. Both views are bitcasts, which take
// no time. What is computed with is left for split_complex(). The module is flat.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> move_whole_complex(const hlo::Module& module);

}  // namespace heddle::cpu
