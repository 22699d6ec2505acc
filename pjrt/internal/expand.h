// Ops that are younger than the plugins in use, written with older ones.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::pjrt {

// expand-mulhi: mulhi(x, y) becomes a multiplication in the type of twice the width and a shift;
// for 64 bits, four multiplications of halves (Knuth, The Art of Computer Programming 2, 4.3.1 M).
[[nodiscard]] StatusOr<hlo::Module> expand_mulhi(const hlo::Module& module);

}  // namespace heddle::pjrt
