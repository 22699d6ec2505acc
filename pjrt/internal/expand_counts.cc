// Constants {0, 1, 2, ..} of 8-bit floats. XLA's CPU finds that they are an iota after it has written
// such types with others, and then converts integers to them as if they were integers: no program.
// An iota from the start is written with the others.
#include <cmath>

#include "heddle/pjrt/internal/expand.h"
#include "heddle/pjrt/internal/rewrite.h"
#include "heddle/transform/emitter.h"

namespace heddle::pjrt {
namespace {

bool is_count(const hlo::Computation&, const hlo::Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (instruction.opcode != hlo::Opcode::kConstant || !shape.is_array() || shape.rank() != 1 ||
      !is_floating(shape.dtype()) || bit_width(shape.dtype()) > 8)
    return false;
  const Literal& values = instruction.attrs.get<hlo::ConstantAttrs>().literal;
  if (values.is_elided() || values.element_count() < 2) return false;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    const double value = values.to_double(i);
    if (value != static_cast<double>(i) || std::signbit(value)) return false;
  }
  return true;
}

}  // namespace

bool has_counts(const hlo::Module& module) { return any_instruction(module, is_count); }

hlo::Module expand_counts(const hlo::Module& module) {
  return rewritten(module, is_count,
                   [](transform::ModuleRebuilder&, transform::Rebuilder& to, hlo::InstructionId i) {
                     Shape shape = to.old(i).shape;
                     shape.clear_layout();
                     return transform::Emitter(to.builder(), to.old(i))
                         .op(hlo::Opcode::kIota, shape, {}, hlo::IotaAttrs{.iota_dimension = 0});
                   });
}

}  // namespace heddle::pjrt
