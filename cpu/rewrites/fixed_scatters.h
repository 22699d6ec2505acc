// Scatters of one window at a place that is known.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a scatter of one window, whose indices are constants, as a dynamic-update-slice of what
// the window's elements become. JAX's x.at[1:-1].set(y) and .add(y) are such. A window that does
// not fit stays a scatter.
[[nodiscard]] StatusOr<hlo::Module> update_fixed_scatters(const hlo::Module& module);

}  // namespace heddle::cpu
