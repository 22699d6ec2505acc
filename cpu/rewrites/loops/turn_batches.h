// A part of a loop's body for all turns at once.
#pragma once

#include <optional>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/cpu/rewrites/loops/turns.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// A copy of an instruction that moves out of its computation: nothing there comes before it.
hlo::Instruction without_order(hlo::Instruction instruction);

struct TurnBatch {
  // parameters.., with lanes along dimension 0 where turns differ -> results.., with lanes
  hlo::Module module;
  std::vector<LeafId> parameters;
};

// The part of a turn that computes `results`, for all turns. Parameters are the leaves of
// `is_given` (by leaf), rows, the counter and what all turns share. Nothing: a result is the same
// in all turns.
StatusOr<std::optional<TurnBatch>> batch_of_turns(const hlo::Module& module, const Turns& turns,
                                                  const std::vector<LeafId>& results,
                                                  const std::vector<bool>& is_given);

}  // namespace heddle::cpu
