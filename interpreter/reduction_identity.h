// Identities of the functions of reductions. HLO leaves open how often a reduction takes its start,
// so that only a start that is an identity has one meaning.
#pragma once

#include <optional>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::interpreter {

// What the op leaves as it is with any other number: 0 of add, -inf of maximum. None: not known.
std::optional<Literal> identity_of(hlo::Opcode opcode, DType dtype);

// Whether function(start, x) is x for every x, but for rounding that a further call would not
// repeat (reduce-precision, floats converted). Found by the form of the function, a reducer of one
// array; `false` where that does not show it.
bool is_identity(const Literal& start, const hlo::Computation& function);

}  // namespace heddle::interpreter
