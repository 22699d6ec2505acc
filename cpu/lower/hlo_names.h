// Names of hlo/ that most files here use.
#pragma once

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

using hlo::Computation;
using hlo::ComputationId;
using hlo::Dims;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

}  // namespace heddle::cpu
