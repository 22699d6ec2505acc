// Conversions of complex numbers to other types. XLA converts the real part as if it were an
// integer already: infinity and 300 become what their last bits say, and i becomes false.
#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"

namespace heddle::pjrt {
namespace {

bool is_misread_convert(const Computation& computation, const Instruction& instruction) {
  if (instruction.opcode != Opcode::kConvert) return false;
  const DType from = computation.at(instruction.operands[0]).shape.dtype();
  const DType to = instruction.shape.dtype();
  return is_complex(from) && !is_complex(to) && !is_floating(to);
}

// pred: whether it is not 0. Others: the real part, converted.
Value write_convert(Graph& graph, const Instruction& now) {
  const Value x = graph.wrap(now.operands[0]);
  return now.shape.dtype() == pred ? x != 0 : convert(real(x), now.shape.dtype());
}

}  // namespace

bool has_complex_converts(const hlo::Module& module) {
  return any_instruction(module, is_misread_convert);
}

StatusOr<hlo::Module> expand_complex_converts(const hlo::Module& module) {
  return rewritten(module, is_misread_convert, write_convert);
}

}  // namespace heddle::pjrt
