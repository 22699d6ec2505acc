// Sums with an array that is zero but for a part of it.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes x + dynamic-update-slice(zeros, part, i) as an update of x, and x + a scatter into zeros
// that adds as a scatter into x: a gradient's sum over the steps of a loop of what each takes from
// one place. So the work is that of the part. Only where x has no -0.0, which + 0.0 makes 0.0: of
// integers, and of sums that began with zeros, also over the turns of loops.
[[nodiscard]] StatusOr<hlo::Module> update_sparse_sums(const hlo::Module& module);

}  // namespace heddle::cpu
