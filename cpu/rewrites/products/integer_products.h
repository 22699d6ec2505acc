// Products of integers and of truths, for which there are no kernels.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes convolutions of integers over few points as sums of shifted arrays, and others as
// convolutions of floats that hold their sums: of 32 bits by their halves. Writes dots of truths as
// those of f32, and those to s4 and u4 as those of s32. All are exact. Convolutions in groups of
// features, and of s64 and u64, stay.
[[nodiscard]] StatusOr<hlo::Module> expand_integer_products(const hlo::Module& module);

}  // namespace heddle::cpu
