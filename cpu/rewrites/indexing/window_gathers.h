// Gathers of windows, and comparisons of indices that are known.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a gather whose indices are sums of multiples of their places, none of them outside of the
// array, as one that takes the neighbours along the last dimension of the result at once: frames
// of a signal, x[i[:, None] * hop + j], and patches of an image. A comparison of such indices that
// gives the same truth at all places, as x[indices] asks whether they count from the end, is that
// truth.
[[nodiscard]] StatusOr<hlo::Module> gather_windows(const hlo::Module& module);

}  // namespace heddle::cpu
