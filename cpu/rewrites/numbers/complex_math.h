// Elementwise ops of complex numbers, as HLO on their parts.
#pragma once

#include <optional>
#include <span>

#include "heddle/hlo/value.h"

namespace heddle::cpu {

struct ComplexParts {
  hlo::Value re, im;
};

// The parts of the op's value; of a real value, `re` alone. Nothing where there is no formula: the
// evaluator has one.
std::optional<ComplexParts> write_complex(const hlo::Instruction& op,
                                          std::span<const ComplexParts> operands);

}  // namespace heddle::cpu
