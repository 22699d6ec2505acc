// Reordering dimensions, for rules that work on a simpler order than their operands come in.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heddle/hlo/literal/literal.h"

namespace heddle::interpreter {

// Dimension i of the result is dimension order[i] of x, an array. Shares the bytes where nothing
// moves.
Literal permuted(const Literal& x, std::span<const int64_t> order);

// The inverse: order[i] of the result is i of x.
std::vector<int64_t> inverse_of(std::span<const int64_t> order);

}  // namespace heddle::interpreter
