// The body of a shard_map lies in a computation between SPMDFullToShardShape and
// SPMDShardToFullShape. Values there are parts: each device has its own.
#pragma once

#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::transform {

// Which instructions give parts of devices.
std::vector<bool> parts_of_devices(const hlo::Computation& computation);

}  // namespace heddle::transform
