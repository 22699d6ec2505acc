// What the turns of a loop can do at once, before it and after it.
#pragma once

#include <optional>

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Loop distribution. A value that each turn computes of its own rows and its number is computed for
// all turns before the loop. A value that only results need is computed for all turns after it.
// Turns are lanes then, and products of a matrix and a vector are one product of matrices. Examples
// are the random numbers of a simulation, an RNN's product with its input, tanh of a state of a few
// numbers, and lax.map. distribution_choice.h says what moves. The modules have stage hlo, and
// loops that are while. Nothing: there is no such loop.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> compute_before_loops(const hlo::Module& module);
[[nodiscard]] StatusOr<std::optional<hlo::Module>> compute_after_loops(const hlo::Module& module);

}  // namespace heddle::cpu
