// Vectors of a few lanes that a turn puts together of scalars and takes apart again.
#pragma once

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// An operation on a vector waits for its last lane, and all that needs one lane of the result waits
// with it. Where the turns of a loop would take less time, by an estimate of what waits for what
// and of the work of a turn, each lane is computed as a scalar.
void part_vectors(Plan& plan);

}  // namespace heddle::cpu
