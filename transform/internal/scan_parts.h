// The parts of a scan: operands are (inputs.., carries..), results are (outputs.., carries..).
#pragma once

#include "heddle/hlo/module.h"

namespace heddle::transform {

struct ScanParts {
  size_t inputs = 0;
  size_t outputs = 0;
  size_t carries = 0;
  int64_t dimension = 0;
  int64_t length = 0;
  bool reverse = false;
};

// Returns the sizes of a verified scan, whose body is `body`.
ScanParts scan_parts(const hlo::Computation& caller, const hlo::Instruction& scan,
                     const hlo::Computation& body);

// The values that a body returns, in order: the operands of a root tuple, or the root itself. Empty
// if another op makes the tuple.
std::vector<hlo::InstructionId> returned_values(const hlo::Computation& body);

}  // namespace heddle::transform
