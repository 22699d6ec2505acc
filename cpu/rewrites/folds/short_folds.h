// Folds over few places whose elements no array in memory holds.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Folds over up to 16 places become elementwise ops on an array for each place, in the order of the
// fold, where the operands are made place by place and read no array of their own size:
// concatenations that stand arrays side by side, as jnp.select() stacks its conditions, numbers, as
// argmax has them, broadcasts, and elementwise ops on these. Folds over arrays in memory do so too
// where some places are read at other places, as sum(x * roll(x, 1, 0), 0) reads them. Without a
// concatenation and without such moves this holds for rows of up to 15 results, as
// max(scores[:, :, None] + weights, 1) with few states has them: vectors along a row are not full.
// Along the last dimension only folds of several arrays do. None: there is no such fold.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> unroll_short_folds(const hlo::Module& module);

}  // namespace heddle::cpu
