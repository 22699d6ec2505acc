// Scalar operands of elementwise ops, which stand for every element: bounds of clamp, the pred of
// select. XLA's CPU moves reshapes and transposes below elementwise ops as if all operands had the
// shape of the result. Over a clamp of a reshape it then ends the process by a check of its own,
// and of a transpose it says that the bounds do not match.
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"

namespace heddle::pjrt {
namespace {

bool stands_for_all(const Shape& operand, const Shape& result) {
  return operand.is_array() && operand.rank() == 0 && result.is_array() && result.rank() > 0;
}

bool has_scalar_operand(const Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kClamp && instruction.opcode != Opcode::kSelect) return false;
  return std::ranges::any_of(instruction.operands, [&](InstructionId operand) {
    return stands_for_all(computation.at(operand).shape, instruction.shape);
  });
}

Value with_whole_operands(Graph& graph, Instruction now) {
  for (InstructionId& operand : now.operands) {
    const Value x = graph.wrap(operand);
    if (stands_for_all(x.shape(), now.shape)) operand = spread(x, now.shape).id();
  }
  return graph.append(std::move(now));
}

}  // namespace

bool has_scalar_operands(const hlo::Module& module) {
  return any_instruction(module, has_scalar_operand);
}

StatusOr<hlo::Module> expand_scalar_operands(const hlo::Module& module) {
  return rewritten(module, has_scalar_operand, with_whole_operands);
}

}  // namespace heddle::pjrt
