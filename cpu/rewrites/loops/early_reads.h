// The order of a loop's body: who reads an array of the state comes before what overwrites it.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// In y = r S, S' = w S + u the new state may stand in the old one's memory if the product comes
// first. JAX lists the new state first. Nothing: all bodies have such an order, as far as one is
// possible.
StatusOr<std::optional<hlo::Module>> read_before_updates(const hlo::Module& module);

}  // namespace heddle::cpu
