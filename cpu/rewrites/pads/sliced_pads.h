// Parts of what is computed of padded arrays.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Takes parts of padded arrays and not of what is computed of them, as the derivative of a stencil
// has it, so that one loop reads all of them where they lie:
//   slice(pad(x) + pad(y))   becomes   pad'(x) + pad'(y)
// Padding that only takes away is a slice. Returns nothing where the module has no such part.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> slice_pads(const hlo::Module& module);

}  // namespace heddle::cpu
