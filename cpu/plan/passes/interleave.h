// Two turns at a time, where one is a long chain of operations.
#pragma once

#include "heddle/cpu/plan/plan.h"

namespace heddle::cpu {

// A for_each with a long body and an even number of turns does two turns in one, operation by
// operation: the processor does not see far enough ahead to begin the next turn by itself.
void interleave_turns(Plan& plan);

}  // namespace heddle::cpu
