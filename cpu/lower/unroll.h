// Short loops over whole arrays, written out.
#pragma once

#include <optional>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// A loop that counts to a small number and computes large arrays element by element alone becomes
// calls of its body. Inlined, the turns become one loop over the elements, whose values stay in
// registers from turn to turn. The module has stage hlo. Nothing: it has no such loop.
StatusOr<std::optional<hlo::Module>> unroll_array_loops(const hlo::Module& module);

}  // namespace heddle::cpu
