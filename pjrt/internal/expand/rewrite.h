// The shape of passes that write some instructions otherwise and leave the rest.
#pragma once

#include <algorithm>

#include "heddle/hlo/module.h"
#include "heddle/transform/rebuilder.h"

namespace heddle::pjrt {

using hlo::Computation;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

// matches(computation, instruction) says which; write(into, to, i) appends what is read in place of
// instruction i of `to`, and returns it.
template <class Matches, class Write>
hlo::Module rewritten(const hlo::Module& module, const Matches& matches, const Write& write) {
  return transform::with_rewritten(
      module, [&](transform::ModuleRebuilder& into, transform::Rebuilder& to, hlo::ComputationId,
                  hlo::InstructionId i) {
        return matches(to.from(), to.old(i)) ? write(into, to, i) : hlo::InstructionId();
      });
}

// Whether any instruction does.
template <class Matches>
bool any_instruction(const hlo::Module& module, const Matches& matches) {
  return std::ranges::any_of(module.computations, [&](const hlo::Computation& computation) {
    return std::ranges::any_of(computation.instructions, [&](const hlo::Instruction& instruction) {
      return matches(computation, instruction);
    });
  });
}

}  // namespace heddle::pjrt
