// Integers of 64 bits that are known to fit 32.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes comparisons and conversions of s64 arrays in s32 where all numbers that lead to them, from
// positions (iota), constants and narrower integers on, fit. Twice as many stand in a vector, and
// vectors compare 32 bits in one step. JAX's masks are such where it has 64 bits, jnp.tril's among
// them.
[[nodiscard]] StatusOr<hlo::Module> shorten_integers(const hlo::Module& module);

}  // namespace heddle::cpu
