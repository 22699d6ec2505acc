#include <array>

#include "heddle/transform/internal/ir.h"
#include "heddle/transform/internal/rules.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::transform {
namespace {

// Nothing but metadata hangs on it, so that replacing it loses nothing. (A while's config is a trip
// count, which rules read.)
bool is_plain(const Instruction& instruction) {
  if (!instruction.extras.has_value()) return true;
  const hlo::InstructionExtras& extras = *instruction.extras;
  bool config = !extras.backend_config.empty() && instruction.opcode != Opcode::kWhile;
  return !config && !extras.sharding.has_value() && extras.frontend_attributes.empty() &&
         extras.control_predecessors.empty() && extras.result_accuracy.empty();
}

bool has_static_operands(const Simplifier& to, const Instruction& instruction) {
  for (InstructionId id : instruction.operands) {
    if (to.shape(id).is_dynamic()) return false;
  }
  return true;
}

std::array<std::span<const Rule>, 3> all_rules() {
  return {movement_rules(), arithmetic_rules(), region_rules()};
}

// In the order of the tables. They outlive globals, whose destructors may compute.
std::span<const Rule> rules_of(Opcode opcode) {
  static const auto& by_opcode = *[] {
    auto* out = new std::array<std::vector<Rule>, hlo::kOpcodeCount>;
    for (std::span<const Rule> rules : all_rules()) {
      for (const Rule& rule : rules) (*out)[static_cast<size_t>(rule.opcode)].push_back(rule);
    }
    return out;
  }();
  return by_opcode[static_cast<size_t>(opcode)];
}

}  // namespace

const Computation& Simplifier::computation(hlo::ComputationId id) const {
  return to_.into().at(id);
}

const Instruction* Simplifier::inner(const Instruction& now, Opcode opcode) const {
  const Instruction& operand = at(now.operands[0]);
  if (operand.opcode != opcode || !is_plain(operand) || !has_static_operands(*this, operand))
    return nullptr;
  return &operand;
}

InstructionId Simplifier::if_same(const Instruction& now, InstructionId id) const {
  return shape(id) == now.shape ? id : InstructionId();
}

const Literal* Simplifier::splat(InstructionId id) const {
  const Instruction* value = &at(id);
  if (value->opcode == Opcode::kBroadcast) value = &at(value->operands[0]);
  if (value->opcode != Opcode::kConstant || !value->shape.is_array()) return nullptr;
  const Literal& literal = value->attrs.get<hlo::ConstantAttrs>().literal;
  return literal.element_count() == 1 && !literal.is_elided() ? &literal : nullptr;
}

// A rewritten instruction is smaller by some measure (operands, nesting, steps), so this ends.
InstructionId Simplifier::emit(Instruction now) {
  const std::span<const Rule> rules = rules_of(now.opcode);
  if (!rules.empty() && is_plain(now) && !now.shape.is_dynamic() &&
      has_static_operands(*this, now)) {
    for (const Rule& rule : rules) {
      if (const InstructionId id = rule.rewrite(*this, now); id.valid()) return id;
    }
  }
  return to_.builder().append(std::move(now));
}

StatusOr<hlo::Module> simplify(const hlo::Module& module) {
  ModuleRebuilder to(module);
  for (hlo::ComputationId id : to.order()) {
    Rebuilder computation(to, id);
    Simplifier simplifier(computation);
    for (InstructionId i : computation.order()) {
      computation.replace(i, simplifier.emit(computation.mapped(i)));
    }
    Computation now = std::move(computation).finish();
    sweep(now, to.effects());
    to.replace(id, std::move(now));
  }
  return std::move(to).finish();
}

std::vector<std::string_view> simplify_rules() {
  std::vector<std::string_view> names;
  for (std::span<const Rule> rules : all_rules()) {
    for (const Rule& rule : rules) names.push_back(rule.name);
  }
  return names;
}

}  // namespace heddle::transform
