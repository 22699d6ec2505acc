// Reductions by a single add, multiply, minimum, maximum, and, or, xor: no body is called.
//
// Floats are accumulated in f64 and rounded once; f64 and c128 sums carry their rounding errors
// along (Neumaier's sum). So the value is nearer to the true one than any order of additions in the
// type itself.
#pragma once

#include <optional>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::interpreter {

using namespace hlo;

// The op, where the computation is op(x, y) of its two scalar parameters, in any order, and this
// file has a loop for it.
std::optional<Opcode> native_reducer(const Computation& computation);

// `init` and all elements of x along the dimensions, combined.
Literal reduce_native(Opcode op, const Literal& x, const Literal& init,
                      const std::vector<int64_t>& dimensions, const Shape& result);

}  // namespace heddle::interpreter
