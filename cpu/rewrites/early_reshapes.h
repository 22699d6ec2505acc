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
// Ops and folds on arrays of few columns, as the maximum of f32[1000,5,5] over the last dimension,
// are computed on f32[5000,5]: neighbouring dimensions are one where no broadcast and no fold tells
// them apart, if the rows side by side are few or the fold takes them with the columns. Returns
// nothing where the module has neither.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> reshape_early(const hlo::Module& module);

}  // namespace heddle::cpu
