#include "heddle/transform/effects.h"

#include <algorithm>

#include "heddle/hlo/calls/custom_derivative.h"

namespace heddle::transform {

using hlo::Opcode;

Effects::Effects(const hlo::Module& module) {
  for (const hlo::Computation& computation : module.computations) add(computation);
}

void Effects::add(const hlo::Computation& computation) {
  has_effect_.push_back(
      std::ranges::any_of(computation.instructions,
                          [this](const hlo::Instruction& instruction) { return of(instruction); }));
  has_backward_.push_back(std::ranges::any_of(
      computation.instructions,
      [this](const hlo::Instruction& instruction) { return has_backward(instruction); }));
}

bool Effects::of(const hlo::Instruction& instruction) const {
  if (hlo::has_trait(instruction.opcode, hlo::kSideEffect)) return true;
  if (instruction.opcode == Opcode::kCustomCall &&
      instruction.attrs.get<hlo::CustomCallAttrs>().custom_call_has_side_effect) {
    return true;
  }
  return std::ranges::any_of(instruction.called, [this](hlo::ComputationId id) { return of(id); });
}

bool Effects::has_backward(const hlo::Instruction& instruction) const {
  return hlo::is_custom(instruction, hlo::kCustomVjp) ||
         hlo::is_custom(instruction, hlo::kCustomPullback) ||
         std::ranges::any_of(instruction.called,
                             [this](hlo::ComputationId id) { return has_backward_[id.value]; });
}

bool Effects::may_merge(const hlo::Instruction& instruction) const {
  return instruction.opcode != Opcode::kParameter && instruction.opcode != Opcode::kOptBarrier &&
         !instruction.shape.is_token() && !of(instruction) && !has_backward(instruction);
}

}  // namespace heddle::transform
