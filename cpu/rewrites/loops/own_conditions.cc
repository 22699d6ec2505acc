#include "heddle/cpu/rewrites/loops/own_conditions.h"

#include <set>
#include <utility>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {

StatusOr<std::optional<hlo::Module>> copy_shared_conditions(const hlo::Module& module) {
  std::set<ComputationId> seen;
  bool is_shared = false;
  for (const Computation& computation : module.computations) {
    for (const Instruction& loop : computation.instructions) {
      if (loop.opcode == Opcode::kWhile && !seen.insert(loop.called[1]).second) is_shared = true;
    }
  }
  if (!is_shared) return std::optional<hlo::Module>();
  transform::ModuleRebuilder into(module);
  std::set<ComputationId> used;
  for (const ComputationId id : into.order()) {
    transform::Rebuilder to(into, id);
    for (const InstructionId i : to.order()) {
      const Instruction& loop = to.old(i);
      if (loop.opcode != Opcode::kWhile || used.insert(loop.called[1]).second) {
        to.copy(i);
        continue;
      }
      transform::Rebuilder condition(into, loop.called[1]);
      for (const InstructionId each : condition.order()) condition.copy(each);
      Instruction now = to.mapped(i);
      now.called[1] = into.add(std::move(condition).finish());
      to.replace(i, to.builder().append(std::move(now)));
    }
    into.replace(id, std::move(to).finish());
  }
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, std::move(into).finish());
  return std::optional(std::move(out));
}

}  // namespace heddle::cpu
