// Which loops of a plan threads share.
#pragma once

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// Marks the outermost for_each loops whose work, by an estimate, is worth a second thread, and
// notes what they use from outside. The marks depend on the plan alone, not on the machine.
// The emitter leaves a loop that is too long for one function to one thread.
void share_loops(Plan& plan);

}  // namespace heddle::cpu
