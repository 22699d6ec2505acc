// Elements picked from joined arrays.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes gathers and dynamic slices that pick a few places of a concatenation, a padded array or an
// updated one, which nothing else reads, as those of its parts:
//   concatenate(q, zeros)[i]   becomes   select(i < |q|, q[i], zeros[i - |q|])
// so that no array is copied for a few of its elements. Returns nothing where the module has no
// such table.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> pick_from_parts(const hlo::Module& module);

}  // namespace heddle::cpu
