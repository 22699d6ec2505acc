// Parts of arrays that one device of several has, as slices that its number chooses.
#pragma once

#include <cstdint>
#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes each custom-call SPMDFullToShardShape as a dynamic-slice at the place that a table has for
// partition-id, so that nothing has to keep the sharding of its operand. Nothing: there is none.
// errors: InvalidArgument where an operand has no sharding, or one that gives another tile
StatusOr<std::optional<hlo::Module>> slice_own_tiles(const hlo::Module& module, int64_t partitions);

}  // namespace heddle::cpu
