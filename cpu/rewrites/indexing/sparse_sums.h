// Sums with an array that is zero but for a part of it.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes x + dynamic-update-slice(zeros, part, i) as an update of x, and x + a scatter into zeros
// that adds as a scatter into x. A gradient's sum over the steps of a loop of what each takes from
// one place is such, and its work is then that of the part. The bits stay: x must be of integers,
// or have no -0.0, which + 0.0 makes 0.0, as sums that began with zeros, also over the turns of
// loops; and what a scatter adds at one place is summed before it is added to x.
[[nodiscard]] StatusOr<hlo::Module> update_sparse_sums(const hlo::Module& module);

}  // namespace heddle::cpu
