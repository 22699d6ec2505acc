// Names of hlo/ that most files here use, and the dimensions that an instruction names.
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

// Of a broadcast, a transpose, a concatenation, a reduction.
inline const Dims& dimensions_of(const Instruction& instruction) {
  return instruction.attrs.get<hlo::DimensionsAttrs>().dimensions;
}

}  // namespace heddle::cpu
