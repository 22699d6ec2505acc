// Folds of arrays that are stacked for them alone, as jnp.select() stacks its conditions.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Folds over up to 8 arrays that a concatenation puts side by side, also with their numbers as
// argmax has them, become elementwise ops on the arrays, in the order of the fold. None: there is
// no such fold.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> fold_without_stacks(const hlo::Module& module);

}  // namespace heddle::cpu
