// The names of the IR that every pass writes.
#pragma once

#include "heddle/hlo/module.h"

namespace heddle::transform {

using hlo::Computation;
using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

}  // namespace heddle::transform
