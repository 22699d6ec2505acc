// Constants {0, 1, 2, ..}, which XLA finds to be an iota, whatever the sign of the zero: one that
// begins with -0 loses it. And those of 8-bit floats it finds on the CPU after it has written such
// types with others, and then converts integers to them as if they were integers: no program. An
// iota from the start is written with the others.
#include <cmath>

#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"

namespace heddle::pjrt {
namespace {

bool begins_with_minus(const Instruction& constant) {
  return std::signbit(constant.attrs.get<hlo::ConstantAttrs>().literal.to_double(0));
}

bool is_count(const Computation&, const Instruction& instruction) {
  const Shape& shape = instruction.shape;
  if (instruction.opcode != Opcode::kConstant || !shape.is_array() || shape.rank() != 1 ||
      !is_floating(shape.dtype()))
    return false;
  const Literal& values = instruction.attrs.get<hlo::ConstantAttrs>().literal;
  if (values.is_elided() || values.element_count() < 2) return false;
  if (bit_width(shape.dtype()) > 8 && !begins_with_minus(instruction)) return false;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    if (values.to_double(i) != static_cast<double>(i)) return false;
  }
  return true;
}

// The sign is the highest bit of an element.
Literal negated(Literal values) {
  const DType dtype = values.shape().dtype();
  const int64_t bytes = Shape::scalar(dtype).byte_size();
  const int64_t bit = bit_width(dtype) - 1;
  for (int64_t i = bit / 8; i < values.byte_size(); i += bytes)
    values.mutable_bytes()[i] ^= static_cast<std::byte>(1 << bit % 8);
  return values;
}

Value write_count(Graph& graph, const Instruction& now) {
  if (!begins_with_minus(now)) return graph.iota(now.shape.dimensions(), 0, now.shape.dtype());
  // -{0, -1, -2, ..}: no count, and it stays none, since nothing is computed across the barrier.
  const Value constant = graph.constant(negated(now.attrs.get<hlo::ConstantAttrs>().literal));
  return -unary(Opcode::kOptBarrier, constant);
}

}  // namespace

bool has_counts(const hlo::Module& module) { return any_instruction(module, is_count); }

StatusOr<hlo::Module> expand_counts(const hlo::Module& module) {
  return rewritten(module, is_count, write_count);
}

}  // namespace heddle::pjrt
