// What the values of a computation are to some of its parameters, leaf by leaf. It looks into
// scans, whiles, branches and calls.
#pragma once

#include <optional>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/op.h"
#include "heddle/transform/derivatives/internal/parts.h"
#include "heddle/transform/internal/ir.h"

namespace heddle::transform {

// Which leaves of a computation's results depend on the leaves of its parameters that `on` marks.
std::vector<bool> dependent_results(const Writer& writer, const Computation& computation,
                                    const std::vector<bool>& on);

// Of a computation that is affine in the marked leaves: which results are sure to be 0 where these
// are. Others may have a constant term.
std::vector<bool> vanishing_results(const Writer& writer, const Computation& computation,
                                    const std::vector<bool>& at);

// The computation without the debug calls that read what depends on the marked leaves. Empty if
// another effect does.
std::optional<Computation> without_debug_calls_on(Writer& writer, Computation computation,
                                                  const std::vector<bool>& on);

// Whether its instructions show that a value is zeros. `in`: a computation, or a graph
template <class In>
bool is_zero(const In& in, InstructionId id) {
  const Instruction& instruction = in.at(id);
  if (instruction.opcode == Opcode::kConstant) {
    const Literal& value = instruction.attrs.template get<hlo::ConstantAttrs>().literal;
    return value == Literal(value.shape());
  }
  return (hlo::does(instruction.opcode, hlo::kPicks) || instruction.opcode == Opcode::kConvert) &&
         is_zero(in, instruction.operands[0]);
}

}  // namespace heddle::transform
