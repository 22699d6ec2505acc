// ComputationBuilder: appends instructions to one computation of a module, each checked by its op's
// shape rule as it is added.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "heddle/base/source_location.h"
#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::hlo {

class ComputationBuilder {
 public:
  // `module` holds the computations that instructions call; it must outlive the builder.
  explicit ComputationBuilder(const Module& module, std::string name = "");

  // Appends parameter number parameter_count().
  InstructionId parameter(Shape shape, std::string name = "");
  InstructionId constant(Literal literal);

  // Appends an instruction and returns its id. `declared` is needed by ops of trait kDeclared, and
  // checked for the others.
  // errors: InvalidArgument from the op's shape rule, in the words of `function` (infer_shape())
  StatusOr<InstructionId> add(Opcode opcode, std::span<const InstructionId> operands,
                              Attrs attrs = {}, std::vector<ComputationId> called = {},
                              const Shape* declared = nullptr, std::string_view function = {});
  StatusOr<InstructionId> add(Opcode opcode, std::initializer_list<InstructionId> operands,
                              Attrs attrs = {}, std::vector<ComputationId> called = {},
                              const Shape* declared = nullptr) {
    return add(opcode, std::span<const InstructionId>(operands.begin(), operands.size()),
               std::move(attrs), std::move(called), declared);
  }

  // Appends an instruction as it is: for passes that copy what was checked before. Operands must be
  // here already.
  InstructionId append(Instruction instruction);

  void reserve(size_t instructions) { computation_.instructions.reserve(instructions); }

  [[nodiscard]] const Instruction& at(InstructionId id) const { return computation_.at(id); }
  [[nodiscard]] Instruction& mutable_at(InstructionId id) {
    return computation_.instructions[id.value];
  }
  [[nodiscard]] const Shape& shape(InstructionId id) const { return at(id).shape; }
  [[nodiscard]] const Computation& computation() const { return computation_; }
  [[nodiscard]] size_t instruction_count() const { return computation_.instructions.size(); }
  [[nodiscard]] size_t parameter_count() const { return computation_.parameters.size(); }
  void set_location(SourceLocation at) { location_ = at; }  // of the instructions added from now on

  // The computation, with its root. The builder is empty afterwards.
  [[nodiscard]] Computation finish(InstructionId root) &&;

 private:
  const Module* module_;
  Computation computation_;
  SourceLocation location_;
};

}  // namespace heddle::hlo
