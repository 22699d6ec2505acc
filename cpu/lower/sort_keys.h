// The keys that a sort's comparator compares, as instructions.
#pragma once

#include <map>
#include <vector>

#include "heddle/hlo/module.h"
#include "heddle/interpreter/comparator.h"
#include "heddle/transform/emitter.h"

namespace heddle::cpu {

// Writes keys of elements that are scalars or arrays of these dimensions.
class SortKeyWriter {
 public:
  SortKeyWriter(transform::Emitter& emit, const hlo::Computation& comparator,
                std::vector<int64_t> dimensions)
      : emit_(emit), comparator_(comparator), dimensions_(std::move(dimensions)) {}

  // The comparator's expression of the left elements, which are `values`. As encode(), numbers that
  // are not compared in total order have one zero, and NaN above all.
  hlo::InstructionId key_of(const interpreter::SortKey& key,
                            const std::vector<hlo::InstructionId>& values);

 private:
  hlo::InstructionId copied(hlo::InstructionId id, const std::vector<hlo::InstructionId>& values,
                            std::map<hlo::InstructionId, hlo::InstructionId>& made);
  hlo::InstructionId everywhere(hlo::InstructionId scalar);

  transform::Emitter& emit_;
  const hlo::Computation& comparator_;
  std::vector<int64_t> dimensions_;
};

}  // namespace heddle::cpu
