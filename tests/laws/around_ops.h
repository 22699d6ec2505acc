// Programs around a sample's op.
#pragma once

#include "heddle/tests/laws/samples.h"

namespace heddle::laws {

// Each run draws other numbers, so nothing can be said of the value.
bool is_random(hlo::Opcode opcode);

bool is_made_of_arrays(const Shape& shape);

// The sample thrice in a loop that keeps its operands: what writes an operand in place spoils the
// next step. The result is the loop's state, whose last element is the op's value. Takes samples
// whose result is made of arrays.
hlo::Module looped(const Sample& sample);

}  // namespace heddle::laws
