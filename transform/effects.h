// Effects: instructions that must run even if their result is unused: infeed, send, collectives,
// custom calls that say so, and every instruction that calls such a one.
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

  // Whether the value of an equal instruction may be read in place of this one's. A barrier keeps
  // the values behind it apart; a token orders effects; parameters are the signature. The backward
  // of a custom_vjp runs once for each call: of the sum of two cotangents it may give something
  // else than the sum of what it gives of both.
  [[nodiscard]] bool may_merge(const hlo::Instruction& instruction) const;

 private:
  [[nodiscard]] bool has_backward(const hlo::Instruction& instruction) const;

  std::vector<bool> has_effect_;    // by computation
  std::vector<bool> has_backward_;  // by computation: it calls a custom_vjp
};

}  // namespace heddle::transform
