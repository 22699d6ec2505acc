#include "heddle/cpu/lower/control/double_turns.h"

#include <algorithm>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/hlo/attributes.h"
#include "heddle/hlo/builder.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

using hlo::ComputationBuilder;

constexpr int64_t kMostOfTurn = 96;                      // instructions
constexpr int64_t kFewestBytes = 1024;                   // that a turn copies
constexpr int64_t kFewestBytesOfAll = int64_t{1} << 17;  // that all turns copy

// Of a turn that costs little more than its memory.
bool is_light(const Computation& body, const Instruction& instruction) {
  switch (instruction.opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kTuple:
    case Opcode::kGetTupleElement:
    case Opcode::kIota:
    case Opcode::kBroadcast:
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kReverse:
    case Opcode::kSlice:
    case Opcode::kPad:
    case Opcode::kConcatenate:
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kGather:
    case Opcode::kReduce:
    case Opcode::kReduceWindow:
    case Opcode::kConvolution: return true;
    default: return is_scalar_op(body, instruction);
  }
}

// The body is a tuple of what it makes of the elements of its state.
bool takes_elements(const Computation& computation) {
  return std::ranges::all_of(computation.instructions, [&](const Instruction& instruction) {
    return instruction.opcode == Opcode::kGetTupleElement ||
           std::ranges::count(instruction.operands, computation.parameters[0]) == 0;
  });
}

std::vector<InstructionId> elements_of(ComputationBuilder& to, InstructionId state) {
  std::vector<InstructionId> elements;
  for (size_t i = 0; i < to.shape(state).elements().size(); ++i) {
    elements.push_back(
        to.append({.opcode = Opcode::kGetTupleElement,
                   .shape = to.shape(state).elements()[i],
                   .operands = {state},
                   .attrs = hlo::TupleIndexAttrs{.index = static_cast<int64_t>(i)}}));
  }
  return elements;
}

// Appends a turn on this state; returns the next one.
std::vector<InstructionId> append_turn(ComputationBuilder& to, const Computation& body,
                                       const std::vector<InstructionId>& state) {
  std::vector<InstructionId> now(body.instructions.size());
  for (size_t i = 0; i < now.size(); ++i) {
    Instruction copy = body.instructions[i];
    if (copy.opcode == Opcode::kParameter || InstructionId(i) == body.root) continue;
    if (copy.opcode == Opcode::kGetTupleElement && copy.operands[0] == body.parameters[0]) {
      now[i] = state[static_cast<size_t>(copy.attrs.get<hlo::TupleIndexAttrs>().index)];
      continue;
    }
    for (InstructionId& operand : copy.operands) operand = now[operand.value];
    if (copy.extras.has_value()) copy.extras.mutate().control_predecessors.clear();
    now[i] = to.append(std::move(copy));
  }
  std::vector<InstructionId> next;
  for (const InstructionId result : body.root_instruction().operands)
    next.push_back(now[result.value]);
  return next;
}

InstructionId append_tuple(ComputationBuilder& to, std::vector<InstructionId> elements) {
  std::vector<Shape> shapes;
  for (const InstructionId element : elements) shapes.push_back(to.shape(element));
  return to.append({.opcode = Opcode::kTuple,
                    .shape = Shape::tuple(std::move(shapes)),
                    .operands = std::move(elements)});
}

Computation two_turns(const hlo::Module& module, const Computation& body) {
  ComputationBuilder to(module, body.name);
  const InstructionId state = to.append(body.at(body.parameters[0]));
  const auto once = append_turn(to, body, elements_of(to, state));
  return std::move(to).finish(append_tuple(to, append_turn(to, body, once)));
}

// counter < limit, of a condition that compares it with another number.
Computation with_limit(const hlo::Module& module, const Computation& condition, int64_t limit) {
  ComputationBuilder to(module, condition.name);
  for (const Instruction& instruction : condition.instructions) to.append(instruction);
  Instruction test = condition.root_instruction();
  const Shape shape = to.shape(test.operands[1]);
  test.operands[1] =
      to.append({.opcode = Opcode::kConstant,
                 .shape = shape,
                 .attrs = hlo::ConstantAttrs{.literal = Literal::scalar(shape.dtype(), limit)}});
  const InstructionId root = to.append(std::move(test));
  return std::move(to).finish(root);
}

InstructionId doubled(transform::ModuleRebuilder& module, transform::Rebuilder& to,
                      const Instruction& old, int64_t turns) {
  Instruction loop = old;
  const Computation body = module.into().at(loop.called[0]);
  const Computation condition = module.into().at(loop.called[1]);
  loop.called = {module.add(two_turns(module.into(), body)),
                 turns % 2 == 0 ? loop.called[1]
                                : module.add(with_limit(module.into(), condition, turns - 1))};
  const InstructionId now = to.builder().append(std::move(loop));
  if (turns % 2 == 0) return now;
  return append_tuple(to.builder(),
                      append_turn(to.builder(), body, elements_of(to.builder(), now)));
}

}  // namespace

bool is_worth_doubling(const hlo::Module& module, const Instruction& loop,
                       const CountedLoop& counted, int64_t copied_bytes) {
  const Computation& body = module.at(loop.called[0]);
  // The condition gets another limit.
  if (module.at(loop.called[1]).root_instruction().opcode != Opcode::kCompare) return false;
  if (counted.step != 1 || copied_bytes < kFewestBytes ||
      counted.turns < kFewestBytesOfAll / copied_bytes)
    return false;
  return body.size() <= kMostOfTurn && body.root_instruction().opcode == Opcode::kTuple &&
         takes_elements(body) && std::ranges::all_of(body.instructions, [&](const Instruction& i) {
           return is_light(body, i);
         });
}

StatusOr<hlo::Module> with_doubled_turns(const hlo::Module& module,
                                         const std::set<const Instruction*>& loops) {
  return transform::with_rewritten(
      module,
      [&](transform::ModuleRebuilder& into, transform::Rebuilder& to, ComputationId in,
          InstructionId id) -> hlo::Value {
        const Computation& around = module.at(in);
        const Instruction& loop = around.at(id);
        if (!loops.contains(&loop)) return {};
        const auto counted =
            counted_loop(Region(module, around), loop, Region(module, module.at(loop.called[1])),
                         Region(module, module.at(loop.called[0])));
        return to.in_place_of(id).wrap(doubled(into, to, to.mapped(id), counted->turns));
      });
}

}  // namespace heddle::cpu
