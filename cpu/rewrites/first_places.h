// Places of the greatest or least of many elements: argmax and argmin.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a reduction of one dimension by argmax or argmin, of elements and their positions, as a
// reduction to the extreme and one to the first position that has it: both fill vectors, where the
// pair takes one element after the other. A NaN is extreme, the first one is found. The extreme
// itself is not wanted, but for its place. JAX's argmax and Heddle's are such.
[[nodiscard]] StatusOr<hlo::Module> find_first_places(const hlo::Module& module);

}  // namespace heddle::cpu
