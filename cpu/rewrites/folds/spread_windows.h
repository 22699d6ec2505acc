// Sums of windows in which one element stands.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Broadcasts an array of one element along a dimension, where the sums of all windows along it have
// that element and zeros around it, as the derivative of a global average does.
[[nodiscard]] StatusOr<hlo::Module> spread_windows(const hlo::Module& module);

}  // namespace heddle::cpu
