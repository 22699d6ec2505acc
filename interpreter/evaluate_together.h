// The evaluator as several devices: collectives join their values, each device has its number, and
// programs that shardings spread over devices are evaluated as well: every device holds all of each
// value, but inside the manual part (SPMDFullToShardShape .. SPMDShardToFullShape) its own tile.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle::interpreter {

class Evaluator;  // interpreter/evaluate.h

// Devices are numbered replica by replica: device = replica * partitions + partition.
struct DeviceCounts {
  int64_t replicas = 1;
  int64_t partitions = 1;
  [[nodiscard]] int64_t total() const { return replicas * partitions; }
};

// What stands around the work of a device, on its thread: calls it once.
using AroundDevice = std::function<void(const std::function<void()>& work)>;

// Runs a module on all devices at once, one thread each. `arguments` and the results are by device;
// `seed` is RunOptions'; `around` may be null.
//
// errors   InvalidArgument where there are not arguments for every device; FailedPrecondition where
//          devices would wait for each other for ever; else the first error of a device, with its
//          number
[[nodiscard]] StatusOr<std::vector<Literal>> evaluate_together(
    const Evaluator& evaluator, const DeviceCounts& devices,
    std::vector<std::vector<Literal>> arguments, uint64_t seed = 0,
    const AroundDevice& around = nullptr);

}  // namespace heddle::interpreter
