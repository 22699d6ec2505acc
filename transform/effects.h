// Effects: what must run even where its result is unused: infeed, send, collectives, custom calls
// that say so, and whatever calls such an instruction.
#pragma once

#include <vector>

#include "heddle/hlo/module.h"

namespace heddle::transform {

class Effects {
 public:
  Effects() = default;
  explicit Effects(const hlo::Module& module);

  // Notes the next computation of a table; its callees are noted already.
  void add(const hlo::Computation& computation);

  [[nodiscard]] bool of(hlo::ComputationId id) const { return has_effect_[id.value]; }
  [[nodiscard]] bool of(const hlo::Instruction& instruction) const;

 private:
  std::vector<bool> has_effect_;  // by computation
};

}  // namespace heddle::transform
