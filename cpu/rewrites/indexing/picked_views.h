// Elements picked from a part of an array.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes gathers, dynamic slices and slices that pick a few places of a dynamic slice, of an array
// that gained or lost dimensions of size 1, or of elementwise ops on joined arrays, as those of the
// arrays before:
//   dynamic-slice(x, start)[i]   becomes   x[start + i]
// so that no array is copied for a few of its elements, and pick_from_parts() sees what x is
// joined of. Returns nothing where the module has no such view.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> pick_from_views(const hlo::Module& module);

}  // namespace heddle::cpu
