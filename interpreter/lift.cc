#include "heddle/interpreter/internal/lift.h"

#include <algorithm>

#include "heddle/interpreter/ops/movement/elements.h"

namespace heddle::interpreter {

using namespace hlo;

namespace {

std::vector<bool> needed_by(const Computation& computation, InstructionId root) {
  std::vector<bool> needed(computation.instructions.size());
  needed[root.value] = true;
  for (size_t i = root.value + 1; i-- > 0;) {
    if (!needed[i]) continue;
    for (InstructionId id : computation.instructions[i].operands) needed[id.value] = true;
  }
  return needed;
}

bool may_lift(const Instruction& instruction, bool at_root) {
  if (instruction.opcode == Opcode::kTuple) return at_root;
  if (!instruction.shape.is_scalar()) return false;
  return instruction.opcode == Opcode::kParameter || instruction.opcode == Opcode::kConstant ||
         has_trait(instruction.opcode, kElementwise);
}

Shape widened(const Shape& shape, int64_t n) {
  if (!shape.is_tuple()) return Shape(shape.dtype(), {n});
  std::vector<Shape> elements;
  for (const Shape& element : shape.elements()) elements.push_back(widened(element, n));
  return Shape::tuple(std::move(elements));
}

}  // namespace

bool is_liftable(const Computation& computation, InstructionId root) {
  const std::vector<bool> needed = needed_by(computation, root);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] && !may_lift(computation.instructions[i], i == root.value)) return false;
  }
  return std::ranges::all_of(computation.parameters, [&](InstructionId id) {
    return computation.at(id).shape.is_scalar();
  });
}

Computation lift(const Computation& computation, InstructionId root, int64_t n) {
  std::vector<bool> needed = needed_by(computation, root);
  for (InstructionId id : computation.parameters) needed[id.value] = true;
  std::vector<InstructionId> moved(needed.size());
  Computation out;
  out.parameters.resize(computation.parameter_count());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    Instruction copy = computation.instructions[i];
    copy.shape = widened(copy.shape, n);
    copy.extras.reset();
    for (InstructionId& id : copy.operands) id = moved[id.value];
    moved[i] = InstructionId(out.instructions.size());
    if (copy.opcode == Opcode::kConstant) {
      copy.attrs = ConstantAttrs{repeated(copy.attrs.get<ConstantAttrs>().literal, copy.shape)};
    } else if (copy.opcode == Opcode::kParameter) {
      out.parameters[static_cast<size_t>(copy.attrs.get<ParameterAttrs>().number)] = moved[i];
    }
    out.instructions.push_back(std::move(copy));
  }
  out.root = moved[root.value];
  return out;
}

}  // namespace heddle::interpreter
