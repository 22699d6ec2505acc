// Places of the greatest or least of many elements: argmax and argmin.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes argmax and argmin, reductions of elements and their positions, as a reduction to the
// extreme and one to the first position that has it. Both fill vectors, where the pair takes one
// element after the other. It does so for the last dimension, and for others of large arrays. NaN
// is extreme, and the first one is found. A reduction whose extreme is read too stays as it is.
// Of pred it is a reduction to the first position alone. JAX's argmax and Heddle's are such
// reductions.
[[nodiscard]] StatusOr<hlo::Module> find_first_places(const hlo::Module& module);

}  // namespace heddle::cpu
