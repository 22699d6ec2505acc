#include "heddle/hlo/builder.h"

#include "heddle/hlo/op.h"

namespace heddle::hlo {

ComputationBuilder::ComputationBuilder(const Module& module, std::string name) : module_(&module) {
  computation_.name = std::move(name);
}

InstructionId ComputationBuilder::parameter(Shape shape, std::string name) {
  Instruction instruction;
  instruction.opcode = Opcode::kParameter;
  instruction.shape = std::move(shape);
  instruction.attrs = ParameterAttrs{.number = static_cast<int64_t>(parameter_count())};
  instruction.name = std::move(name);
  return append(std::move(instruction));
}

InstructionId ComputationBuilder::constant(Literal literal) {
  Instruction instruction;
  instruction.opcode = Opcode::kConstant;
  instruction.shape = literal.shape();
  instruction.attrs = ConstantAttrs{.literal = std::move(literal)};
  return append(std::move(instruction));
}

StatusOr<InstructionId> ComputationBuilder::add(Opcode opcode,
                                                std::span<const InstructionId> operands,
                                                Attrs attrs, std::vector<ComputationId> called,
                                                const Shape* declared, std::string_view function) {
  constexpr size_t kInline = 8;
  const Shape* few[kInline];
  std::vector<const Shape*> many;
  if (operands.size() > kInline) many.resize(operands.size());
  const Shape** shapes = operands.size() > kInline ? many.data() : few;
  for (size_t i = 0; i < operands.size(); ++i) shapes[i] = &at(operands[i]).shape;
  std::vector<const Computation*> callees;
  callees.reserve(called.size());
  for (ComputationId id : called) callees.push_back(&module_->at(id));

  auto shape = infer_shape(opcode, {shapes, operands.size()}, attrs, callees, declared, function);
  if (!shape.ok()) return shape.status();
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.shape = *std::move(shape);
  instruction.operands.assign(operands.begin(), operands.end());
  instruction.attrs = std::move(attrs);
  instruction.called = std::move(called);
  return append(std::move(instruction));
}

InstructionId ComputationBuilder::append(Instruction instruction) {
  InstructionId id(computation_.instructions.size());
  if (instruction.opcode == Opcode::kParameter) {
    size_t number = static_cast<size_t>(instruction.attrs.get<ParameterAttrs>().number);
    if (computation_.parameters.size() <= number) computation_.parameters.resize(number + 1);
    computation_.parameters[number] = id;
  }
  if (!instruction.at.known()) instruction.at = location_;
  computation_.instructions.push_back(std::move(instruction));
  return id;
}

Computation ComputationBuilder::finish(InstructionId root) && {
  computation_.root = root;
  return std::move(computation_);
}

}  // namespace heddle::hlo
