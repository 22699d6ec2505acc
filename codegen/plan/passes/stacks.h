// Scalars that loops stack, side by side in memory.
#pragma once

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// A loop over many scalars stacks some of them, one array for each, as a gradient's residuals are.
// Where a turn writes and reads one element of each of these arrays, at one index, they become one
// array whose rows are the turns: a turn stores and loads vectors in place of scalars.
void join_stacks(Plan& plan);

}  // namespace heddle::cpu
