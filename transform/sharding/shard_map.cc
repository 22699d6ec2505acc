#include "heddle/transform/sharding/shard_map.h"

#include <algorithm>

#include "heddle/hlo/calls/custom_derivative.h"

namespace heddle::transform {

using hlo::Instruction;

namespace {

// Whether it marks its operand as a part of a device.
bool is_marked(const Instruction& instruction) {
  return hlo::is_custom(instruction, "Sharding") && instruction.extras->sharding.has_value() &&
         instruction.extras->sharding->type == hlo::Sharding::Type::kManual;
}

}  // namespace

std::vector<bool> parts_of_devices(const hlo::Computation& computation) {
  std::vector<bool> out(computation.instructions.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    if (hlo::is_custom(instruction, "SPMDShardToFullShape")) continue;
    out[i] =
        hlo::is_custom(instruction, "SPMDFullToShardShape") || is_marked(instruction) ||
        std::ranges::any_of(instruction.operands, [&](auto operand) { return out[operand.value]; });
  }
  return out;
}

}  // namespace heddle::transform
