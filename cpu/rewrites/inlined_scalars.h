// The instructions of a computation on scalars, written on arrays.
#pragma once

#include <map>

#include "heddle/hlo/module.h"
#include "heddle/hlo/value.h"

namespace heddle::cpu {

class InlinedScalars {
 public:
  // `parameters`: what stands for each parameter, by number: scalars, or arrays of one size. The
  // computation has elementwise ops and constants alone.
  InlinedScalars(const hlo::Computation& from, hlo::Values parameters);

  hlo::Value of(hlo::InstructionId id);

 private:
  const hlo::Computation& from_;
  const hlo::Values parameters_;
  const hlo::Dims sizes_;
  std::map<hlo::InstructionId, hlo::Value> made_;
};

}  // namespace heddle::cpu
