// Reshapes before what is computed of arrays, and arrays with fewer dimensions.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Moves reshapes to the arrays that lie in memory, where they cost nothing, so that one loop
// computes what is before and behind them:
//   sum(reshape(x * y))   becomes   sum(reshape(x) * reshape(y))
// A reshape that splits dimensions also moves past sums and broadcasts, and undoes repeats; short
// sums of short sums are one then.
//
// Ops and folds on arrays of few columns get fewer dimensions (joined_dimensions.h). Returns
// nothing where the module has neither.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> reshape_early(const hlo::Module& module);

}  // namespace heddle::cpu
