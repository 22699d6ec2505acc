// Reductions of blocks, as pooling by a reshape has them.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a reduction over a few elements of the last reduced dimension and over others, as in
//   x.reshape(n, h/2, 2, w/2, 2).max((2, 4))
// as a window of that size and stride over the array in which each reduced dimension has joined the
// kept one before it: its lanes lie along w, where the reduction's lie along the last two. Features
// may stand behind, as in x.reshape(n, h/2, 2, w/2, 2, c).
[[nodiscard]] StatusOr<hlo::Module> pool_blocks(const hlo::Module& module);

}  // namespace heddle::cpu
