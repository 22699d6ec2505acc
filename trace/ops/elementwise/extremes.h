// Identities of maximum and minimum. Private to Heddle's op functions.
#pragma once

#include "heddle/hlo/literal/literal.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/ops/reduction/reductions.h"

namespace heddle::trace_internal {

// The least value of a dtype (for floats and complex numbers -inf), or its greatest: the identity
// of maximum, or of minimum.
Literal extreme(DType dtype, bool lowest);

// max() that gives the least value over no elements, where max() is an error.
Tensor max_or_least(Operand x, const Reduction& over);

}  // namespace heddle::trace_internal
