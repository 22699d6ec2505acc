// Residuals of the inside of a shard_map, from the step of a loop or from a branch: parts, one on
// each device. XLA's partitioner does not let a part leave a computation, so they leave it as
// arrays of the parts of all devices; each part stays where it is.
#pragma once

#include <span>
#include <vector>

#include "heddle/hlo/value.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

class PartsOfDevices {
 public:
  explicit PartsOfDevices(const hlo::Computation& computation);

  // The type of the residual of a value.
  [[nodiscard]] Shape residual_type(const hlo::Computation& computation,
                                    hlo::InstructionId id) const;
  // The values of these instructions as they leave a computation: [devices, ..] for parts.
  void join(Graph& graph, std::span<const hlo::InstructionId> ids, Values& values) const;
  // The value of a residual: for a part, each device's own.
  Value read(Graph& graph, hlo::InstructionId id, const Value& kept) const;

 private:
  [[nodiscard]] bool has(hlo::InstructionId id) const { return devices_ > 0 && is_part_[id.value]; }

  std::vector<bool> is_part_;
  int64_t devices_ = 0;  // 0: no shard_map, or one that does not say how many
  SourceLocation at_;
};

}  // namespace heddle::transform
