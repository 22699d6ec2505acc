// Asynchronous pairs: foo-start gives a tuple of operands, results and contexts, which foo-done
// takes apart.
#pragma once

#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {

// The declared type, a tuple, which only the matching done takes apart.
StatusOr<Shape> infer_start(const InferArgs& in);

// The result, which stands second in what the start gave.
StatusOr<Shape> infer_done(const InferArgs& in);
StatusOr<Literal> evaluate_done(EvalArgs& in);

// One literal: itself. Several: a tuple.
Literal bundled(std::vector<Literal> values);

// The tuple of `parts` and, for the contexts that the result type has besides, zeros.
// errors: InvalidArgument where the parts are not of the result type
StatusOr<Literal> with_contexts(const EvalArgs& in, std::vector<Literal> parts);

}  // namespace heddle::hlo
