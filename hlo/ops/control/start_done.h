// Asynchronous pairs: foo-start gives a tuple of operands, results and contexts, which foo-done
// takes apart.
#pragma once

#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {

// The declared type, a tuple, which only the matching done takes apart.
StatusOr<Shape> infer_start(const InferArgs& in);

// The result, which stands second in what the start gave.
StatusOr<Shape> infer_done(const InferArgs& in);

}  // namespace heddle::hlo
