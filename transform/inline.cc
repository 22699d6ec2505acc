// inline: the instructions of a called computation in place of the call.
//
//   f { p = parameter(0)  ROOT r = negate(p) }
//   y = call(x), to_apply=f          =>          y = negate(x)
//
// Callees precede callers, so a copied callee has been inlined itself and nothing recurses. The
// number of instructions may grow exponentially with the depth of calls; past a limit calls stay as
// they are.
#include <algorithm>

#include "heddle/transform/internal/ir.h"
#include "heddle/transform/passes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::transform {
namespace {

constexpr int64_t kMaxInstructions = int64_t{1} << 20;

bool is_plain_call(const Instruction& instruction) {
  return instruction.opcode == Opcode::kCall &&
         !instruction.attrs.get<hlo::CallAttrs>().is_composite;
}

void map_ids(std::vector<InstructionId>& ids, const std::vector<InstructionId>& map) {
  for (InstructionId& id : ids) id = map[id.value];
}

// Copies the callee's body behind the instructions so far, and returns the new root. Annotations of
// the call's result (sharding, control predecessors) do not belong to the callee's instructions, so
// a call with any is not inlined.
InstructionId inline_body(Rebuilder& to, const Computation& callee, const Instruction& call) {
  std::vector<InstructionId> map(callee.instructions.size());
  for (size_t number = 0; number < callee.parameters.size(); ++number) {
    map[callee.parameters[number].value] = call.operands[number];
  }
  for (size_t i = 0; i < callee.instructions.size(); ++i) {
    if (map[i].valid() || callee.instructions[i].opcode == Opcode::kParameter) continue;
    Instruction instruction = callee.instructions[i];
    map_ids(instruction.operands, map);
    if (!instruction.extras->control_predecessors.empty()) {
      map_ids(instruction.extras.mutate().control_predecessors, map);
    }
    map[i] = to.builder().append(std::move(instruction));
  }
  return map[callee.root.value];
}

// Heddle's own attributes are for derivatives, which are done before calls are inlined.
bool says_something(const Instruction& call) {
  const bool has_attributes =
      std::ranges::any_of(call.extras->frontend_attributes, [](const auto& attribute) {
        return !attribute.first.starts_with("heddle.");
      });
  return call.extras->sharding.has_value() || has_attributes ||
         !call.extras->backend_config.empty() || !call.extras->control_predecessors.empty();
}

Computation inlined(ModuleRebuilder& module, hlo::ComputationId id, int64_t& budget) {
  Rebuilder to(module, id);
  for (InstructionId i : to.order()) {
    if (!is_plain_call(to.old(i)) || says_something(to.old(i))) {
      to.copy(i);
      continue;
    }
    Instruction call = to.mapped(i);
    const Computation& callee = module.into().at(call.called[0]);
    if (callee.size() > budget) {
      to.copy(i);
      continue;
    }
    budget -= callee.size();
    to.replace(i, inline_body(to, callee, call));
  }
  return std::move(to).finish();
}

}  // namespace

StatusOr<hlo::Module> inline_calls(const hlo::Module& module) {
  ModuleRebuilder to(module);
  int64_t budget = kMaxInstructions - module.instruction_count();
  for (hlo::ComputationId id : to.order()) to.replace(id, inlined(to, id, budget));
  return std::move(to).finish();
}

}  // namespace heddle::transform
