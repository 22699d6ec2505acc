#include "heddle/transform/rebuilder.h"

#include <algorithm>

#include "heddle/transform/internal/ir.h"

namespace heddle::transform {
namespace {

template <class Id>
void map_ids(std::vector<Id>& ids, const std::vector<Id>& map) {
  for (Id& id : ids) id = map[id.value];
}

void map_control(Instruction& instruction, const std::vector<InstructionId>& map) {
  if (!instruction.extras.has_value() || instruction.extras->control_predecessors.empty()) return;
  auto& ids = instruction.extras.mutate().control_predecessors;
  map_ids(ids, map);
  std::erase_if(ids, [](InstructionId id) { return !id.valid(); });
}

std::vector<bool> live_instructions(const Computation& computation, const Effects& effects) {
  std::vector<bool> live(computation.instructions.size());
  live[computation.root.value] = true;
  for (size_t i = live.size(); i-- > 0;) {
    const Instruction& instruction = computation.instructions[i];
    if (!live[i] && instruction.opcode != Opcode::kParameter && !effects.of(instruction)) continue;
    live[i] = true;
    for (InstructionId id : instruction.operands) live[id.value] = true;
    for (InstructionId id : instruction.extras->control_predecessors) live[id.value] = true;
  }
  return live;
}

std::vector<bool> reached_computations(const hlo::Module& module) {
  std::vector<bool> reached(module.computations.size());
  reached[module.entry.value] = true;
  for (size_t i = reached.size(); i-- > 0;) {
    if (!reached[i]) continue;
    for (const Instruction& instruction : module.computations[i].instructions) {
      for (ComputationId id : instruction.called) reached[id.value] = true;
    }
  }
  return reached;
}

// Moves the remaining items together, and returns their new places.
template <class Id, class Item>
std::vector<Id> compact(std::vector<Item>& items, const std::vector<bool>& keep) {
  std::vector<Id> map(items.size());
  size_t next = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!keep[i]) continue;
    map[i] = Id(next);
    if (next != i) items[next] = std::move(items[i]);
    ++next;
  }
  items.resize(next);
  return map;
}

hlo::Module header_of(const hlo::Module& module) {
  hlo::Module out;
  out.name = module.name;
  out.extras = module.extras;
  out.computations.reserve(module.computations.size());
  return out;
}

bool all(const std::vector<bool>& bits) { return std::ranges::find(bits, false) == bits.end(); }

}  // namespace

ModuleRebuilder::ModuleRebuilder(const hlo::Module& from)
    : Writer(header_of(from)), from_(&from), map_(from.computations.size()) {}

ComputationId ModuleRebuilder::add(Computation computation) {
  effects_.add(computation);
  return Writer::add(std::move(computation));
}

ComputationId ModuleRebuilder::replace(ComputationId old, Computation now) {
  return map_[old.value] = add(std::move(now));
}

StatusOr<hlo::Module> ModuleRebuilder::finish() && {
  HEDDLE_RETURN_IF_ERROR(status());
  hlo::Module module = std::move(*this).Writer::finish(map_[from_->entry.value]);
  sweep(module);
  return module;
}

Rebuilder::Rebuilder(ModuleRebuilder& module, ComputationId from)
    : module_(&module),
      from_(&module.from().at(from)),
      graph_(module, from_->name),
      map_(from_->instructions.size()) {
  builder().reserve(from_->instructions.size());
}

Instruction Rebuilder::mapped(InstructionId old) const {
  Instruction instruction = from_->at(old);
  map_ids(instruction.operands, map_);
  for (ComputationId& id : instruction.called) id = (*module_)[id];
  map_control(instruction, map_);
  return instruction;
}

InstructionId Rebuilder::copy(InstructionId old) {
  return map_[old.value] = builder().append(mapped(old));
}

hlo::Values Rebuilder::operands(InstructionId old) {
  hlo::Values out;
  for (InstructionId id : from_->at(old).operands) out.push_back(value(id));
  return out;
}

Computation Rebuilder::finish(InstructionId root) && {
  Computation computation = std::move(builder()).finish(root);
  computation.execution_thread = from_->execution_thread;
  computation.is_fusion = from_->is_fusion;
  computation.unknown_proto = from_->unknown_proto;
  computation.unknown_parts = from_->unknown_parts;
  return computation;
}

void sweep(Computation& computation, const Effects& effects) {
  std::vector<bool> live = live_instructions(computation, effects);
  if (all(live)) return;
  auto map = compact<InstructionId>(computation.instructions, live);
  for (Instruction& instruction : computation.instructions) {
    map_ids(instruction.operands, map);
    map_control(instruction, map);
  }
  map_ids(computation.parameters, map);
  computation.root = map[computation.root.value];
}

void sweep(hlo::Module& module) {
  std::vector<bool> reached = reached_computations(module);
  if (all(reached)) return;
  auto map = compact<ComputationId>(module.computations, reached);
  for (Computation& computation : module.computations) {
    for (Instruction& instruction : computation.instructions) map_ids(instruction.called, map);
  }
  module.entry = map[module.entry.value];
}

}  // namespace heddle::transform
