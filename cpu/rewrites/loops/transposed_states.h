// States of loops with their short last dimension first.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// A state such as f32[500,17] whose rows a turn rolls, pads or cuts is kept as f32[17,500], the
// dimensions that no op moves along last: a rolled row is then a few long vectors and not many
// short ones. The state is transposed before the loop and after it; so is what the turn's other
// ops read of it, where that is little beside what the turn computes.
// Returns nothing where the module has no such loop.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> transpose_states(const hlo::Module& module);

}  // namespace heddle::cpu
