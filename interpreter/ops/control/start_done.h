// Asynchronous pairs: foo-start gives a tuple of operands, results and contexts, which foo-done
// takes apart.
#pragma once

#include <vector>

#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {

// The result in what a start gives.
StatusOr<Literal> evaluate_done(EvalArgs& in);

// One literal: itself. Several: a tuple.
Literal bundled(std::vector<Literal> values);

// The tuple of `parts` and, for the contexts that the result type has besides, zeros.
// errors: InvalidArgument where the parts are not of the result type
StatusOr<Literal> with_contexts(const EvalArgs& in, std::vector<Literal> parts);

}  // namespace heddle::interpreter
