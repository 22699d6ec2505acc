// Scalar operands of elementwise ops, which stand for every element: bounds of clamp, the pred of
// select. XLA's CPU moves reshapes and transposes below elementwise ops as if all operands had the
// shape of the result. Over a clamp of a reshape it then ends the process by a check of its own,
// and of a transpose it says that the bounds do not match.
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

bool stands_for_all(const Shape& operand, const Shape& result) {
  return operand.is_array() && operand.rank() == 0 && result.is_array() && result.rank() > 0;
}

bool has_scalar_operand(const hlo::Computation& computation, const hlo::Instruction& instruction) {
  if (instruction.opcode != hlo::Opcode::kClamp && instruction.opcode != hlo::Opcode::kSelect)
    return false;
  return std::ranges::any_of(instruction.operands, [&](hlo::InstructionId operand) {
    return stands_for_all(computation.at(operand).shape, instruction.shape);
  });
}

}  // namespace

bool has_scalar_operands(const hlo::Module& module) {
  return any_instruction(module, has_scalar_operand);
}

hlo::Module expand_scalar_operands(const hlo::Module& module) {
  return rewritten(module, has_scalar_operand,
                   [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::InstructionId i) {
                     hlo::Instruction now = to.mapped(i);
                     transform::Emitter emit(to.builder(), to.old(i));
                     for (hlo::InstructionId& operand : now.operands) {
                       const Shape& shape = emit.shape(operand);
                       if (!stands_for_all(shape, now.shape)) continue;
                       Shape whole = now.shape.with_dtype(shape.dtype());
                       whole.clear_layout();
                       operand = emit.op(hlo::Opcode::kBroadcast, std::move(whole), {operand},
                                         hlo::DimensionsAttrs());
                     }
                     return to.builder().append(std::move(now));
                   });
}

}  // namespace heddle::pjrt
