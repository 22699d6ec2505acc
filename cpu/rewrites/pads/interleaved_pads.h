// Arrays whose rows take turns.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a sum of arrays, each padded with zeros where others have their rows, as one array of all
// of them: derivatives of strided slices are such sums, and JAX's associative_scan joins its even
// and odd elements so. No pad is an array then, and what the rows are computed from writes them to
// their places. Returns nothing where the module has no such sum.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> join_interleaved_pads(const hlo::Module& module);

}  // namespace heddle::cpu
