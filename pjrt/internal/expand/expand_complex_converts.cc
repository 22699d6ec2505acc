// Conversions of complex numbers to other types. XLA converts the real part as if it were an
// integer already: infinity and 300 become what their last bits say, and i becomes false.
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

bool is_misread_convert(const hlo::Computation& computation, const hlo::Instruction& instruction) {
  if (instruction.opcode != Opcode::kConvert) return false;
  const DType from = computation.at(instruction.operands[0]).shape.dtype();
  const DType to = instruction.shape.dtype();
  return is_complex(from) && !is_complex(to) && !is_floating(to);
}

// pred: whether it is not 0. Others: the real part, converted.
hlo::InstructionId write_convert(hlo::ComputationBuilder& to, const hlo::Instruction& now) {
  transform::Emitter emit(to, now);
  const hlo::InstructionId x = now.operands[0];
  Shape shape = now.shape;
  shape.clear_layout();
  const DType complex = to.at(x).shape.dtype();
  if (shape.dtype() != pred) {
    const DType part = complex == c64 ? f32 : f64;
    return emit.op(Opcode::kConvert, shape, {emit.op(Opcode::kReal, shape.with_dtype(part), {x})});
  }
  const hlo::InstructionId zeros = emit.zeros(shape.with_dtype(complex));
  return emit.op(Opcode::kCompare, shape, {x, zeros},
                 hlo::CompareAttrs{.direction = hlo::ComparisonDirection::kNe});
}

}  // namespace

bool has_complex_converts(const hlo::Module& module) {
  return any_instruction(module, is_misread_convert);
}

hlo::Module expand_complex_converts(const hlo::Module& module) {
  return rewritten(module, is_misread_convert,
                   [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::InstructionId i) {
                     return write_convert(to.builder(), to.mapped(i));
                   });
}

}  // namespace heddle::pjrt
