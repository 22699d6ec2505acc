// Shardings of a lowered scan's values, from the sharding of the scan.
#pragma once

#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::transform {

// One sharding for each result of `scan`, which has one for each leaf, or one for all. Empty if the
// scan has none, or a tuple sharding with another number of leaves, which would be wrong on any
// result. A result that is itself a tuple gets a sharding of type kTuple.
std::vector<hlo::Sharding> result_shardings(const hlo::Instruction& scan);

// The sharding of a tuple of these: a tuple sharding of their leaves. `shape` is the tuple's;
// elements without a sharding (a null pointer) are replicated.
hlo::Sharding tuple_sharding(const Shape& shape, const std::vector<const hlo::Sharding*>& elements);

}  // namespace heddle::transform
