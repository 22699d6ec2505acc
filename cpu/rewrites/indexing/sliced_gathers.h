// Gathers of neighbours that are known.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a gather by indices that are known before the program runs as slices, which are reversed,
// repeated and joined: x[(i + 1) % n] is a roll, x[clip(i + 1, 0, n - 1)] a slice beside the last
// row, x[i[:, None] + j] with three j a stack of three slices. Indices along one dimension are few
// runs of equal steps, or it stays. A truth that is the same at all places, as of "does an index
// count from the end", is a constant.
[[nodiscard]] StatusOr<hlo::Module> slice_gathers(const hlo::Module& module);

}  // namespace heddle::cpu
