// The rules of `simplify`: each is a name, an opcode, and a function that finds a simpler value. A
// rule is exact under IEEE for every operand: x + 0 is not x (it turns -0 into +0), x + -0 is. One
// golden file a rule: tests/golden/simplify/<name>.hlo.
#pragma once

#include <span>
#include <string_view>

#include "heddle/hlo/module.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::transform {

class Simplifier;

inline constexpr hlo::InstructionId kDoesNotApply;  // what a rule returns that does not apply

struct Rule {
  std::string_view name;
  hlo::Opcode opcode;
  // Returns the value to read in place of `now`, whose operands are simplified already.
  hlo::InstructionId (*rewrite)(Simplifier& to, const hlo::Instruction& now);
};

std::span<const Rule> movement_rules();
std::span<const Rule> arithmetic_rules();
std::span<const Rule> region_rules();

// The view of a rule on the computation.
class Simplifier {
 public:
  explicit Simplifier(Rebuilder& to) : to_(to) {}

  [[nodiscard]] const hlo::Instruction& at(hlo::InstructionId id) const { return to_.at(id); }
  [[nodiscard]] const Shape& shape(hlo::InstructionId id) const { return to_.at(id).shape; }
  // A computation that a simplified instruction calls.
  [[nodiscard]] const hlo::Computation& computation(hlo::ComputationId id) const;

  // Operand 0, if it has this opcode, no annotation that would be lost, and static sizes; null
  // otherwise.
  [[nodiscard]] const hlo::Instruction* inner(const hlo::Instruction& now,
                                              hlo::Opcode opcode) const;
  // `id`, if its type and layout are those of `now`; not valid() otherwise.
  [[nodiscard]] hlo::InstructionId if_same(const hlo::Instruction& now,
                                           hlo::InstructionId id) const;

  // The scalar that all elements of this value are, if it is a constant of one element or a
  // broadcast of one; null otherwise.
  [[nodiscard]] const Literal* splat(hlo::InstructionId id) const;

  // Simplifies the instruction further, and appends it if no rule applies. Returns the value.
  hlo::InstructionId emit(hlo::Instruction now);

 private:
  Rebuilder& to_;
};

}  // namespace heddle::transform
