// Vectors that a loop carries though a turn computes with their lanes one by one.
#pragma once

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// A loop that carries a vector whose turn takes it apart and puts scalars together to the next one
// carries the scalars: else the first operation of a turn would wait for the last one of the turn
// before.
void carry_lanes(Plan& plan);

}  // namespace heddle::cpu
