// Folds of one value many times.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes the sum of a broadcast along what it repeats as a product, its maximum as the value:
//   sum(broadcast(x, {3000, 200}), 0)   becomes   3000 * x
// Gradients of means have such sums. Returns nothing where the module has none.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> fold_repeated(const hlo::Module& module);

}  // namespace heddle::cpu
