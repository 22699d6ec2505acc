// What the turns of a loop can do at once, before it and after it.
#pragma once

#include <optional>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Loop distribution: a value of which each turn computes its own, from its rows of arrays and its
// number, is computed for all turns before the loop; and what only rows of results are computed
// from, after it. A turn's numbers are lanes then, and its matrix-vector products a product of
// matrices: the random numbers of a simulation, an RNN's product with its input, tanh of a state
// that is a few numbers, lax.map. It is done where functions or long chains work on a few numbers,
// or products read a big matrix for a few rows. The modules have stage hlo, and loops that are
// while. Nothing: there is no such loop.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> compute_before_loops(const hlo::Module& module);
[[nodiscard]] StatusOr<std::optional<hlo::Module>> compute_after_loops(const hlo::Module& module);

}  // namespace heddle::cpu
