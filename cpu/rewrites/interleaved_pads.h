// Arrays whose rows take turns.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes the sum of two arrays, each padded with zeros where the other has its rows, as one array
// of both. JAX's associative_scan joins its even and odd elements so. Neither pad is an array then,
// and what the rows are computed from writes them to their places.
[[nodiscard]] StatusOr<hlo::Module> join_interleaved_pads(const hlo::Module& module);

}  // namespace heddle::cpu
