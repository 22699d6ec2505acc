// Reading the integers that say where: start indices of dynamic-slice, gather and scatter.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/hlo/literal/literal.h"

namespace heddle::interpreter {

// Element at a row-major position of an integer array. Unsigned values above INT64_MAX read as
// INT64_MAX, so that they stay large.
int64_t index_at(const Literal& indices, int64_t position);

// All elements, read so.
std::vector<int64_t> all_indices(const Literal& indices);

}  // namespace heddle::interpreter
