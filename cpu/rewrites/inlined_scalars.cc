#include "heddle/cpu/rewrites/inlined_scalars.h"

#include <utility>

#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

InlinedScalars::InlinedScalars(const hlo::Computation& from, hlo::Values parameters)
    : from_(from), parameters_(std::move(parameters)), sizes_(parameters_[0].sizes()) {}

hlo::Value InlinedScalars::of(hlo::InstructionId id) {
  if (const auto found = made_.find(id); found != made_.end()) return found->second;
  const hlo::Instruction& from = from_.at(id);
  hlo::Graph& graph = parameters_[0].graph();
  hlo::Value now;
  if (from.opcode == hlo::Opcode::kParameter) {
    now = parameters_[static_cast<size_t>(from.attrs.get<hlo::ParameterAttrs>().number)];
  } else {
    hlo::Values operands;
    for (hlo::InstructionId operand : from.operands) operands.push_back(of(operand));
    const bool is_leaf = operands.empty();
    const Shape shape = is_leaf ? from.shape : from.shape.with_dimensions(sizes_);
    now = graph.op(from.opcode, operands, from.attrs, {}, &shape);
    if (is_leaf && !sizes_.empty()) now = broadcast(now, sizes_, {});
  }
  return made_.emplace(id, now).first->second;
}

}  // namespace heddle::cpu
