// Windows reduced by a single add, multiply, minimum, maximum, and, or, xor: no body is called.
#pragma once

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/opcode.h"

namespace heddle::interpreter {

using namespace hlo;

// `init` and the elements under each place of the window, combined; op is one that native_reducer()
// found.
//
// Dimensions are reduced one after the other, and along a dimension runs of 1, 2, 4, .. neighbours
// are combined once and shared by the places: a window of n taps costs log n steps an element, so
// that a running sum over a million elements is one of twenty steps. Accumulated as accumulators.h
// says; elements keep their order.
Literal reduce_window_native(Opcode op, const Literal& x, const Literal& init, const Window& window,
                             const Shape& result);

}  // namespace heddle::interpreter
