// Decompositions whose vectors nobody reads.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Asks LAPACK's syevd, heevd and gesdd for values alone where only those are read: eigh(a)[0] of
// JAX computes the vectors too. None: there is no such call.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> find_values_alone(const hlo::Module& module);

}  // namespace heddle::cpu
