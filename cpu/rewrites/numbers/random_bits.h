// Random bits as arithmetic on integers.
#pragma once

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes rng-bit-generator as elementwise operations on the numbers of its blocks, bit for bit what
// its rule computes (interpreter/ops/control/random.cc). What the rule refuses stays, and so do
// types that a plan does not hold.
[[nodiscard]] StatusOr<hlo::Module> expand_random_bits(const hlo::Module& module);

}  // namespace heddle::cpu
