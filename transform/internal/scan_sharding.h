// Shardings of what a scan is lowered to, out of the sharding of the scan.
#pragma once

#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::transform {

// One sharding a result of `scan`, which has one a leaf, or one for all; empty where the scan has
// none, or a tuple sharding of another number of leaves, which would be wrong on any result. A
// result that is itself a tuple gets a sharding of type kTuple.
std::vector<hlo::Sharding> result_shardings(const hlo::Instruction& scan);

// The sharding of a tuple of these: a tuple sharding of their leaves. `shape` is the tuple's;
// elements of no sharding of their own (a null pointer) are replicated.
hlo::Sharding tuple_sharding(const Shape& shape, const std::vector<const hlo::Sharding*>& elements);

}  // namespace heddle::transform
