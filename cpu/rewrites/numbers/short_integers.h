// Integers in fewer bits than the program says, with the same values.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes comparisons and conversions of s64 arrays in s32 where all numbers that lead to them, from
// positions (iota), constants and narrower integers on, fit. Twice as many stand in a vector, and
// vectors compare 32 bits in one step. JAX's masks are such where it has 64 bits, jnp.tril's among
// them.
//
// A sum of widened integers that is converted back is summed in the narrow type, as in NumPy's
// packbits: the low bits of a sum are the sum of the low bits.
[[nodiscard]] StatusOr<hlo::Module> shorten_integers(const hlo::Module& module);

}  // namespace heddle::cpu
