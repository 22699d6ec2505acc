// Elements of one of several arrays.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a gather of an element of one of up to 16 arrays that a concatenation puts side by side,
// at its own place in each, as selects: jnp.choose() and take_along_axis() of a stack. No array of
// all is made then. Calls are inlined already, by gather_windows().
[[nodiscard]] StatusOr<hlo::Module> choose_from_stacks(const hlo::Module& module);

}  // namespace heddle::cpu
