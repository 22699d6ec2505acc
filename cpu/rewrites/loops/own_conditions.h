// Loops with conditions of their own.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Copies conditions that loops share, as equal ones are once they are merged, so that the state of
// one loop can take another form. Returns nothing where no loops share one.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> copy_shared_conditions(
    const hlo::Module& module);

}  // namespace heddle::cpu
