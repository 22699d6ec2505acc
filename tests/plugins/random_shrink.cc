// Smaller programs of the same outcome.
#include <optional>

#include "heddle/hlo/builder.h"
#include "heddle/hlo/verify.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/plugins/random_programs.h"
#include "heddle/transform/passes.h"

namespace heddle::random_programs {
namespace {

// The entry up to an instruction, as the result.
Program cut(const Program& program, hlo::InstructionId root) {
  Program out = program;
  hlo::Computation& main = out.module.computations[out.module.entry.value];
  main.root = root;
  out.module = transform::remove_unused(out.module).value();
  out.errors.clear();
  return out;
}

// With one instruction more an argument, of the value that the evaluator gives it.
std::optional<Program> with_argument(const Program& program, hlo::InstructionId id) {
  const hlo::Computation& main = program.module.entry_computation();
  const hlo::Instruction& old = main.at(id);
  const bool is_source = old.opcode == hlo::Opcode::kParameter ||
                         old.opcode == hlo::Opcode::kConstant || !old.shape.is_array();
  if (is_source || id == main.root) return std::nullopt;
  const StatusOr<Literal> value = interpreter::evaluate(cut(program, id).module, program.arguments);
  if (!value.ok()) return std::nullopt;
  Program out = program;
  hlo::Computation& now = out.module.computations[out.module.entry.value];
  hlo::Instruction& parameter = now.instructions[id.value];
  parameter = hlo::Instruction();
  parameter.opcode = hlo::Opcode::kParameter;
  parameter.shape = old.shape;
  parameter.attrs = hlo::ParameterAttrs{.number = static_cast<int64_t>(now.parameters.size())};
  now.parameters.push_back(id);
  out.module = transform::remove_unused(out.module).value();
  out.arguments.push_back(*value);
  return out;
}

}  // namespace

Program shrunk(Program program, const std::function<bool(const Program&)>& same) {
  // The first instruction by which it is found.
  for (size_t i = 0; i < program.module.entry_computation().instructions.size(); ++i) {
    const hlo::InstructionId id(i);
    const hlo::Instruction& root = program.module.entry_computation().at(id);
    if (root.opcode == hlo::Opcode::kParameter || !root.shape.is_array()) continue;
    Program tried = cut(program, id);
    if (!same(tried)) continue;
    program = std::move(tried);
    break;
  }
  // From the last on: what an instruction is given instead of computing it leaves all before it.
  for (size_t i = program.module.entry_computation().instructions.size(); i-- > 0;) {
    if (i >= program.module.entry_computation().instructions.size()) continue;
    std::optional<Program> tried = with_argument(program, hlo::InstructionId(i));
    if (tried.has_value() && same(*tried)) program = *std::move(tried);
  }
  return program;
}

}  // namespace heddle::random_programs
