// Shrinking: the same tuple without some elements, in types and in their annotations.
#pragma once

#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::transform {

// Returns the tuple of the kept elements. Returns a shape that is no tuple as it is.
Shape shrink(const Shape& shape, const std::vector<bool>& mask);

// The sharding of such a tuple: of a list with one entry for each leaf, the entries of the kept
// elements. Any other sharding is for all elements, and stays.
hlo::Sharding shrink(const hlo::Sharding& sharding, const Shape& shape,
                     const std::vector<bool>& mask);

// Shrinks the instruction's shape, sharding and per-leaf replication; a while keeps only the trip
// count of a backend_config that names elements by number.
void shrink(hlo::Instruction& instruction, const std::vector<bool>& mask);

// Number of kept elements before `element`: its new number.
int64_t rank_in(const std::vector<bool>& mask, size_t element);

}  // namespace heddle::transform
