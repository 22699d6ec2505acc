// Sums over edges: columns that are read, computed with and scattered.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a scatter of columns of x[rows, places] whose updates are computed from gathered columns,
// as a vmap over messages along the edges of a graph has it, on transposed arrays: a column is a
// row there, which one vector reads and writes. Returns nothing where the module has none.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> turn_column_windows(const hlo::Module& module);

}  // namespace heddle::cpu
