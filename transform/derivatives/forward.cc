#include "heddle/transform/derivatives/internal/forward.h"

#include "heddle/hlo/derivative.h"
#include "heddle/transform/custom_derivative.h"
#include "heddle/transform/derivatives.h"

namespace heddle::transform {

using hlo::Computation;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

Duals poisoned(Duals values, const Status& why) {
  for (Dual& value : values) {
    if (!hlo::has_tangent(value.x.shape())) continue;
    value.dx = Value();
    value.why = why;
  }
  return values;
}

Status reason_in(const Duals& duals) {
  for (const Dual& dual : duals) {
    if (!dual.why.ok()) return dual.why;
  }
  return {};
}

namespace {

bool has_tangents(const Duals& duals) {
  for (const Dual& dual : duals) {
    if (dual.has_tangent()) return true;
  }
  return false;
}

Status without_derivative(const Instruction& instruction, std::string_view why) {
  return at_line(base::unimplemented(to_string(instruction.opcode), ": has no derivative: ", why),
                 instruction);
}

bool is_checkpoint(const Instruction& call) {
  for (const auto& [key, value] : call.extras->frontend_attributes) {
    if (key == kCheckpointAttribute) return true;
  }
  return false;
}

std::vector<Shape> operand_shapes(const Computation& computation, const Instruction& instruction) {
  std::vector<Shape> out;
  for (InstructionId id : instruction.operands) out.push_back(computation.at(id).shape);
  return out;
}

}  // namespace

Duals Forward::plain(Graph& graph, const Instruction& instruction, const std::vector<Shape>& shapes,
                     const Duals& operands) {
  Values leaves, values;
  for (const Dual& operand : operands) leaves.push_back(operand.x);
  size_t next = 0;
  for (const Shape& shape : shapes) {
    const size_t count = leaf_count(shape);
    values.push_back(assembled(graph, shape, std::span(leaves).subspan(next, count)));
    next += count;
  }
  const Value y = copied(graph, instruction, values, source_.called(instruction.called));
  Duals out;
  for (const Value& leaf : flattened(graph, y)) out.push_back({leaf});
  return out;
}

StatusOr<Duals> Forward::by_rule(Graph& graph, const Instruction& instruction,
                                 const std::vector<Shape>& shapes, const Duals& operands) {
  Duals out = plain(graph, instruction, shapes, operands);
  if (const Status why = reason_in(operands); !why.ok()) return poisoned(std::move(out), why);
  for (const Shape& shape : shapes) {
    if (shape.is_tuple())
      return poisoned(std::move(out), without_derivative(instruction, "it takes a tuple"));
  }
  const hlo::Derivative derivative = hlo::derivative_of(instruction);
  if (!derivative.jvp)
    return poisoned(std::move(out), without_derivative(instruction, derivative.jvp.reason()));
  Values x, dx, y;
  for (const Dual& operand : operands) {
    x.push_back(operand.x);
    dx.push_back(operand.dx);
  }
  for (const Dual& result : out) y.push_back(result.x);
  Instruction of = instruction;
  of.called = source_.called(instruction.called);
  auto dy = derivative.jvp.rule()({graph, of, x, dx, y});
  if (!dy.ok()) {
    return poisoned(std::move(out), without_derivative(instruction, base::message_of(dy.status())));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (hlo::has_tangent(out[i].x.shape())) out[i].dx = (*dy)[i];
  }
  return out;
}

StatusOr<Duals> Forward::checkpointed(Graph& graph, const Instruction& call,
                                      const std::vector<Shape>& shapes, const Duals& operands) {
  Duals out = plain(graph, call, shapes, operands);
  if (const Status why = reason_in(operands); !why.ok()) return poisoned(std::move(out), why);
  const Computation computation = source_.at(call.called[0]);
  Graph inside(source_.into(), computation.name + ".tangent");
  Duals parameters;
  Values given;
  for (const Dual& each : operands) {
    parameters.push_back({inside.parameter(each.x.shape())});
    given.push_back(each.x);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].dx.is_absent()) continue;
    parameters[i].dx = inside.parameter(operands[i].x.shape());
    given.push_back(operands[i].dx);
  }
  HEDDLE_ASSIGN_OR_RETURN(const Duals results, run(inside, computation, parameters));
  if (const Status why = reason_in(results); !why.ok()) return poisoned(std::move(out), why);
  Values tangents;
  for (const Dual& each : results) {
    if (each.dx) tangents.push_back(each.dx);
  }
  if (tangents.empty()) return out;
  const hlo::ComputationId id = std::move(inside).finish(tangents);
  const Values made = graph.op_of_many(Opcode::kCall, given, hlo::CallAttrs{}, {id});
  size_t next = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (results[i].dx) out[i].dx = made[next++];
  }
  return out;
}

StatusOr<Duals> Forward::derived(Graph& graph, const Computation& computation,
                                 const Instruction& instruction, const Duals& operands) {
  const std::vector<Shape> shapes = operand_shapes(computation, instruction);
  if (instruction.opcode == Opcode::kCall && is_checkpoint(instruction) && has_tangents(operands) &&
      mode_ == Mode::kApart)
    return checkpointed(graph, instruction, shapes, operands);
  if (instruction.opcode == Opcode::kCall && !hlo::derivative_name(instruction).empty())
    return has_tangents(operands) ? by_rule(graph, instruction, shapes, operands)
                                  : plain(graph, instruction, shapes, operands);
  if (instruction.opcode == Opcode::kCall)
    return run(graph, source_.at(instruction.called[0]), operands);
  if (!has_tangents(operands)) return plain(graph, instruction, shapes, operands);
  switch (instruction.opcode) {
    case Opcode::kScan: return jvp_of_scan(*this, graph, computation, instruction, operands);
    case Opcode::kWhile: return jvp_of_while(*this, graph, instruction, operands);
    case Opcode::kConditional:
      return jvp_of_conditional(*this, graph, computation, instruction, operands);
    case Opcode::kCopy:
    case Opcode::kOptBarrier: {
      Duals out = plain(graph, instruction, shapes, operands);
      for (size_t i = 0; i < out.size(); ++i) {
        out[i].dx = operands[i].dx;
        out[i].why = operands[i].why;
      }
      return out;
    }
    case Opcode::kCustomCall:
      if (is_custom(instruction, kCustomJvp) || is_custom(instruction, kCustomVjp))
        return jvp_of_custom(*this, graph, instruction, shapes, operands);
      return by_rule(graph, instruction, shapes, operands);
    default: return by_rule(graph, instruction, shapes, operands);
  }
}

StatusOr<Duals> Forward::run(Graph& graph, const Computation& computation,
                             const Duals& parameters) {
  std::vector<Duals> values(computation.instructions.size());
  size_t next = 0;
  for (InstructionId id : computation.parameters) {
    const size_t count = leaf_count(computation.at(id).shape);
    const auto first = parameters.begin() + static_cast<std::ptrdiff_t>(next);
    values[id.value].assign(first, first + static_cast<std::ptrdiff_t>(count));
    next += count;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    if (instruction.opcode == Opcode::kParameter) continue;
    graph.set_location(instruction.at);
    Duals operands;
    for (InstructionId id : instruction.operands)
      operands.insert(operands.end(), values[id.value].begin(), values[id.value].end());
    if (instruction.opcode == Opcode::kTuple) {
      values[i] = std::move(operands);
    } else if (instruction.opcode == Opcode::kGetTupleElement) {
      const Shape& tuple = computation.at(instruction.operands[0]).shape;
      const auto first =
          operands.begin() + static_cast<std::ptrdiff_t>(first_leaf(
                                 tuple, instruction.attrs.get<hlo::TupleIndexAttrs>().index));
      values[i].assign(first, first + static_cast<std::ptrdiff_t>(leaf_count(instruction.shape)));
    } else {
      HEDDLE_ASSIGN_OR_RETURN(values[i], derived(graph, computation, instruction, operands));
    }
  }
  return values[computation.root.value];
}

Value or_zeros(Graph& graph, const Dual& dual) {
  return dual.dx ? dual.dx : graph.zeros(dual.x.shape());
}

std::vector<bool> tangents_in(std::span<const Dual> duals) {
  std::vector<bool> out;
  for (const Dual& dual : duals) out.push_back(bool(dual.dx));
  return out;
}

bool widen(std::vector<bool>& carries, std::span<const Dual> after) {
  bool more = false;
  for (size_t i = 0; i < carries.size(); ++i) {
    if (carries[i] || after[i].dx.is_absent()) continue;
    carries[i] = more = true;
  }
  return more;
}

}  // namespace heddle::transform
