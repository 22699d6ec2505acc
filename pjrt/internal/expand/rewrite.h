// The shape of passes that write some instructions otherwise and leave the rest.
#pragma once

#include <algorithm>

#include "heddle/hlo/module.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::pjrt {

using hlo::Computation;
using hlo::Graph;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Value;
using hlo::Values;

// matches(computation, instruction) says which; write(graph, now) gives what is read in place of
// the instruction `now`, whose operands are in the graph.
template <class Matches, class Write>
StatusOr<hlo::Module> rewritten(const hlo::Module& module, const Matches& matches,
                                const Write& write) {
  return transform::with_rewritten(
      module, [&](auto&, transform::Rebuilder& to, hlo::ComputationId, InstructionId i) {
        return matches(to.from(), to.old(i)) ? write(to.in_place_of(i), to.mapped(i)) : Value();
      });
}

// Whether any instruction does.
template <class Matches>
bool any_instruction(const hlo::Module& module, const Matches& matches) {
  return std::ranges::any_of(module.computations, [&](const Computation& computation) {
    return std::ranges::any_of(computation.instructions, [&](const Instruction& instruction) {
      return matches(computation, instruction);
    });
  });
}

}  // namespace heddle::pjrt
