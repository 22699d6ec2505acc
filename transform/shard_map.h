// What shard_map computes lies in a computation between SPMDFullToShardShape and
// SPMDShardToFullShape: values there are parts, of which each device has its own.
#pragma once

#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::transform {

// Which instructions give a part of a device.
std::vector<bool> parts_of_devices(const hlo::Computation& computation);

}  // namespace heddle::transform
