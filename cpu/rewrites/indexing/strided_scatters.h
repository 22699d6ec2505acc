// Scatters at places that follow each other by steps.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a scatter whose indices are known before it runs, and lie a number of places apart along
// each dimension, as a dynamic-update-slice of the array in which such a dimension of n places is
// two, of n / step and of step: x.at[::2, 1::2].set(y) and .add(y). Places that a dimension's size
// is no multiple of stay a scatter.
[[nodiscard]] StatusOr<hlo::Module> update_strided_scatters(const hlo::Module& module);

}  // namespace heddle::cpu
