#include "heddle/cpu/rewrites/loops/unroll.h"

#include <algorithm>

#include "heddle/cpu/lower/control/counted_loop.h"
#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/regions/region.h"
#include "heddle/hlo/attributes.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kMostTurns = 8;
constexpr int64_t kMostInstructions = 320;  // of all turns
constexpr int64_t kFewestElements = 4096;   // of its arrays; smaller ones stay in the nearest cache
constexpr int64_t kMostSmall = 16;          // elements of arrays that registers hold

// Arrays are computed element by element, and all large ones have the same number of elements.
bool is_elementwise(const Computation& body) {
  int64_t large = 0;
  for (const Instruction& instruction : body.instructions) {
    if (is_alias(instruction) || instruction.opcode == Opcode::kParameter ||
        instruction.opcode == Opcode::kConstant)
      continue;
    if (!instruction.shape.is_array() || !scalar_of(instruction.shape.dtype())) return false;
    const int64_t count = instruction.shape.element_count();
    const bool is_small = count < kFewestElements;
    switch (instruction.opcode) {
      case Opcode::kSlice:
      case Opcode::kReshape:
        if (!is_small) return false;
        break;
      case Opcode::kBroadcast:
        if (!is_small && !body.at(instruction.operands[0]).shape.is_scalar()) return false;
        break;
      default:
        if (!is_scalar_op(body, instruction)) return false;
    }
    if (is_small) continue;
    if (large != 0 && count != large) return false;
    large = count;
  }
  return large > 0;
}

// Scalars and arrays of few elements, moved and computed on.
bool is_small(const Computation& body) {
  return std::ranges::all_of(body.instructions, [](const Instruction& instruction) {
    if (instruction.shape.is_tuple())
      return is_alias(instruction) || instruction.opcode == Opcode::kParameter;
    return instruction.shape.is_array() && instruction.shape.element_count() <= kMostSmall &&
           (instruction.called.empty() || instruction.opcode == Opcode::kScatter);
  });
}

// Around the loop is another one: small arrays stay in registers from turn to turn of both.
bool is_worth_it(const hlo::Module& module, const Computation& around,
                 const Instruction& instruction) {
  if (instruction.opcode != Opcode::kWhile) return false;
  const Computation& body = module.at(instruction.called[0]);
  const bool is_inside = &around != &module.entry_computation();
  return 2 * body.size() <= kMostInstructions &&
         (is_elementwise(body) || (is_inside && is_small(body)));
}

// The turns of a loop that is to be written out. 0: it stays.
int64_t turns_to_unroll(const hlo::Module& module, const Computation& around,
                        const Instruction& loop) {
  if (!is_worth_it(module, around, loop)) return 0;
  const Computation& body_computation = module.at(loop.called[0]);
  const Region outer(module, around);
  const Region body(module, body_computation), condition(module, module.at(loop.called[1]));
  const std::optional<CountedLoop> counted = counted_loop(outer, loop, condition, body);
  const bool is_short = counted && counted->turns <= kMostTurns &&
                        counted->turns * body_computation.size() <= kMostInstructions;
  return is_short ? counted->turns : 0;
}

Computation unrolled(transform::ModuleRebuilder& module, ComputationId id, bool& found) {
  transform::Rebuilder to(module, id);
  for (InstructionId old : to.order()) {
    const Instruction& loop = to.old(old);
    const int64_t turns = turns_to_unroll(module.from(), to.from(), loop);
    if (turns == 0) {
      to.copy(old);
      continue;
    }
    found = true;
    InstructionId state = to[loop.operands[0]];
    for (int64_t turn = 0; turn < turns; ++turn) {
      state = to.builder().append({.opcode = Opcode::kCall,
                                   .shape = loop.shape,
                                   .operands = {state},
                                   .attrs = hlo::CallAttrs(),
                                   .called = {module[loop.called[0]]}});
    }
    to.replace(old, state);
  }
  return std::move(to).finish();
}

}  // namespace

StatusOr<std::optional<hlo::Module>> unroll_short_loops(const hlo::Module& module) {
  const auto has_loop = [&](const Computation& computation) {
    return std::ranges::any_of(computation.instructions, [&](const Instruction& i) {
      return is_worth_it(module, computation, i);
    });
  };
  if (std::ranges::none_of(module.computations, has_loop)) return std::optional<hlo::Module>();
  transform::ModuleRebuilder rebuilt(module);
  bool found = false;
  for (ComputationId id : rebuilt.order()) rebuilt.replace(id, unrolled(rebuilt, id, found));
  if (!found) return std::optional<hlo::Module>();
  HEDDLE_ASSIGN_OR_RETURN(hlo::Module out, std::move(rebuilt).finish());
  return std::optional(std::move(out));
}

}  // namespace heddle::cpu
