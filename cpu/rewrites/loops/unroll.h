// Short loops, written out.
#pragma once

#include <optional>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Two kinds of loops that count to a small number become calls of their bodies. One computes large
// arrays element by element alone: inlined, the turns become one loop over the elements, whose
// values stay in registers from turn to turn. The other one stands in a loop and has arrays of few
// elements: their places are known then, and they are registers. The module has stage hlo. Nothing:
// it has no such loop.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> unroll_short_loops(const hlo::Module& module);

}  // namespace heddle::cpu
