// Checks of vectors. Private to Heddle's op functions.
#pragma once

#include <string_view>

#include "heddle/trace/expr.h"

namespace heddle::trace_internal {

// x of rank 1. errors: throws Error naming the operand if it has another rank, or fewer than
// `least` elements
Expr vector_of(std::string_view name, const Operand& x, int64_t least = 0);

}  // namespace heddle::trace_internal
