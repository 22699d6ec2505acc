// Windows without places outside of their array.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Pads the arrays under convolutions that are written as loops, with zeros, and those under
// reduce-windows, with what changes nothing. Where no tap falls outside, vectors are loaded as they
// are, and nothing is asked.
[[nodiscard]] StatusOr<hlo::Module> pad_windows(const hlo::Module& module);

}  // namespace heddle::cpu
