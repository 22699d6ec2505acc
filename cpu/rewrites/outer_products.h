// Products of vectors, written as elementwise products.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes each dot that sums nothing, such as x[i] * y[j], as a product of broadcasts, whose
// elements are computed where they are read: what a gradient adds to a matrix of weights is no
// array then.
[[nodiscard]] StatusOr<hlo::Module> expand_outer_products(const hlo::Module& module);

}  // namespace heddle::cpu
