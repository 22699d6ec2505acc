// Lifting: a computation on scalars made to work on arrays of n elements, all at once. It is how
// the evaluator applies the body of a map, a reduction or a sort to many elements for the price of
// one call.
#pragma once

#include <cstdint>

#include "heddle/hlo/module.h"

namespace heddle::interpreter {

// True where `root`, a scalar or a tuple of scalars, follows from scalar parameters and constants
// by elementwise ops alone.
bool is_liftable(const hlo::Computation& computation, hlo::InstructionId root);

// The computation of `root` on arrays of n elements, with all its parameters: scalars become [n],
// constants repeat. Only for what is_liftable().
hlo::Computation lift(const hlo::Computation& computation, hlo::InstructionId root, int64_t n);

}  // namespace heddle::interpreter
