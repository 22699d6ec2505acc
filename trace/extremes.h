// Identities of maximum and minimum. Private to Heddle's op functions.
#pragma once

#include "heddle/hlo/literal.h"

namespace heddle::trace_internal {

// The least value of a dtype (for floats and complex numbers -inf), or its greatest: the identity
// of maximum, or of minimum.
Literal extreme(DType dtype, bool lowest);

}  // namespace heddle::trace_internal
