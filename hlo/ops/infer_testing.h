// For tests of shape rules: the type of one op, without a module.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/op.h"

namespace heddle::hlo::op_testing {

// The inferred type as text, or the error. `declared` is the type that the text would give; none if
// invalid.
inline std::string infer(Opcode opcode, const std::vector<Shape>& operands, const Attrs& attrs = {},
                         const Shape& declared = {}) {
  std::vector<const Shape*> shapes;
  for (const Shape& shape : operands) shapes.push_back(&shape);
  auto shape = infer_shape(opcode, shapes, attrs, {}, declared.is_valid() ? &declared : nullptr);
  return shape.ok() ? to_string(*shape) : base::message_of(shape.status());
}

// A computation of these parameter and result types, which is all that rules look at.
inline Computation callee(const std::vector<Shape>& parameters, const Shape& result) {
  Computation out;
  out.name = "f";
  for (const Shape& shape : parameters) {
    out.parameters.push_back(InstructionId(out.instructions.size()));
    out.instructions.push_back({.opcode = Opcode::kParameter, .shape = shape});
  }
  out.root = InstructionId(out.instructions.size());
  out.instructions.push_back({.opcode = Opcode::kConstant, .shape = result});
  return out;
}

}  // namespace heddle::hlo::op_testing
