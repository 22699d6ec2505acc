// What the step of a loop or a branch keeps of the inside of a shard_map: parts, of which each
// device has its own. XLA's partitioner takes none that leaves a computation, so that they leave it
// as arrays of the parts of all devices, each of which still lies where it is.
#pragma once

#include <span>
#include <vector>

#include "heddle/hlo/value.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

class PartsOfDevices {
 public:
  explicit PartsOfDevices(const hlo::Computation& computation);

  // The type in which a value is kept.
  [[nodiscard]] Shape kept(const hlo::Computation& computation, hlo::InstructionId id) const;
  // The values of these instructions as they leave a computation: [devices, ..] of parts.
  void join(Graph& graph, std::span<const hlo::InstructionId> ids, Values& values) const;
  // A value again of what is kept of it: of a part each device's own.
  Value read(Graph& graph, hlo::InstructionId id, const Value& kept) const;

 private:
  [[nodiscard]] bool has(hlo::InstructionId id) const { return devices_ > 0 && is_part_[id.value]; }

  std::vector<bool> is_part_;
  int64_t devices_ = 0;  // 0: no shard_map, or one that does not say how many there are
  SourceLocation at_;
};

}  // namespace heddle::transform
