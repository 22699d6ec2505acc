// Columns that are scattered, as messages along the edges of a graph are.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes scatters of columns of x[rows, places], and the gathers of columns that their updates are
// computed from, on transposed arrays: a column is a row there, whose elements lie side by side.
// Returns nothing where the module has none.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> turn_column_windows(const hlo::Module& module);

}  // namespace heddle::cpu
