// The dimensions that an instruction names.
#pragma once

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Of a broadcast, a transpose, a concatenation, a reduction.
inline const hlo::Dims& dimensions_of(const hlo::Instruction& instruction) {
  return instruction.attrs.get<hlo::DimensionsAttrs>().dimensions;
}

}  // namespace heddle::cpu
