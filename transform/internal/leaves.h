// Values of a computation by leaf: each instruction has a list, one entry a leaf of its type.
#pragma once

#include <cstddef>
#include <vector>

#include "heddle/hlo/attributes.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

template <class Leaves>
Leaves part_of(const Leaves& all, size_t first, size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return Leaves(begin, begin + static_cast<std::ptrdiff_t>(count));
}

// A list for each instruction; those of parameters have their leaves, which lie end to end.
template <class Leaves>
std::vector<Leaves> values_of_parameters(const hlo::Computation& computation,
                                         const Leaves& parameters) {
  std::vector<Leaves> values(computation.instructions.size());
  size_t next = 0;
  for (hlo::InstructionId id : computation.parameters) {
    const size_t count = leaf_count(computation.at(id).shape);
    values[id.value] = part_of(parameters, next, count);
    next += count;
  }
  return values;
}

template <class Leaves>
Leaves leaves_of_operands(const hlo::Instruction& instruction, const std::vector<Leaves>& values) {
  Leaves out;
  for (hlo::InstructionId id : instruction.operands)
    out.insert(out.end(), values[id.value].begin(), values[id.value].end());
  return out;
}

// Where the leaves of a get-tuple-element begin in its tuple's.
inline size_t first_leaf_of(const hlo::Computation& computation, const hlo::Instruction& element) {
  return first_leaf(computation.at(element.operands[0]).shape,
                    element.attrs.get<hlo::TupleIndexAttrs>().index);
}

template <class Leaves>
Leaves leaves_of_element(const hlo::Computation& computation, const hlo::Instruction& element,
                         const Leaves& of_tuple) {
  return part_of(of_tuple, first_leaf_of(computation, element), leaf_count(element.shape));
}

// The leaves of the root, where of(instruction, leaves of its operands) gives those of all but
// parameters and of what only takes tuples together or apart. It writes into `graph`.
template <class Leaves, class Of>
StatusOr<Leaves> leaves_of_run(Graph& graph, const hlo::Computation& computation,
                               const Leaves& parameters, const Of& of) {
  std::vector<Leaves> values = values_of_parameters(computation, parameters);
  for (size_t i = 0; i < values.size(); ++i) {
    const hlo::Instruction& instruction = computation.instructions[i];
    if (instruction.opcode == hlo::Opcode::kParameter) continue;
    graph.set_location(instruction.at);
    Leaves operands = leaves_of_operands(instruction, values);
    if (instruction.opcode == hlo::Opcode::kTuple) {
      values[i] = std::move(operands);
    } else if (instruction.opcode == hlo::Opcode::kGetTupleElement) {
      values[i] = leaves_of_element(computation, instruction, operands);
    } else {
      HEDDLE_ASSIGN_OR_RETURN(values[i], of(instruction, operands));
    }
  }
  return values[computation.root.value];
}

}  // namespace heddle::transform
