#include "heddle/trace/replay.h"

#include <algorithm>

#include "heddle/hlo/literal.h"

namespace heddle::trace_internal {
namespace {

std::atomic<uint64_t> epoch = 1;

bool same_place(SourceLocation a, SourceLocation b) { return a.line == b.line && a.file == b.file; }

bool same_sharding(const hlo::Instruction& instruction, const hlo::Sharding* sharding) {
  const base::Box<hlo::Sharding>& have = instruction.extras->sharding;
  return sharding ? have.has_value() && *have == *sharding : !have.has_value();
}

bool same_extras(const hlo::Instruction& instruction, const Step& step) {
  return instruction.extras->frontend_attributes == step.frontend_attributes &&
         instruction.extras->backend_config == step.backend_config &&
         same_sharding(instruction, step.sharding);
}

}  // namespace

void forget_recordings() { epoch.fetch_add(1, std::memory_order_relaxed); }
uint64_t recordings_epoch() { return epoch.load(std::memory_order_relaxed); }

uint64_t place_of(const void* kind, const void* types, SourceLocation at) {
  uint64_t word = at.line;
  for (const void* pointer : {kind, types, static_cast<const void*>(at.file)})
    word = (word ^ reinterpret_cast<uint64_t>(pointer)) * 0x9e3779b97f4a7c15ull;
  return word ^ (word >> 32);
}

// Of an instruction that was recorded and not pasted: each of its callees was imported.
const Fragment& Replay::import(hlo::ComputationId id) const {
  return std::ranges::find(expected_->imports, id, [](const auto& i) { return i.second; })->first;
}

hlo::InstructionId Replay::match(const Step& step) {
  const hlo::Instruction* have = next();
  const bool same = have && have->opcode == step.opcode &&
                    std::ranges::equal(have->operands, step.operands) &&
                    have->called.size() == step.called.size() && same_place(have->at, step.at) &&
                    (!step.declared || *step.declared == have->shape) &&
                    have->attrs == step.attrs && same_extras(*have, step);
  if (!same) return {};
  for (size_t i = 0; i < step.called.size(); ++i) {
    if (import(have->called[i]) != step.called[i]) return {};
  }
  return hlo::InstructionId(matched_++);
}

hlo::InstructionId Replay::match_parameter(const Shape& shape, const hlo::Sharding* sharding,
                                           SourceLocation at) {
  const hlo::Instruction* have = next();
  if (!have || have->opcode != hlo::Opcode::kParameter || have->shape != shape ||
      !same_sharding(*have, sharding))
    return {};
  parameters_.push_back(at);
  return hlo::InstructionId(matched_++);
}

hlo::InstructionId Replay::match_constant(const Literal& literal, SourceLocation at) {
  const hlo::Instruction* have = next();
  if (!have || have->opcode != hlo::Opcode::kConstant || !same_place(have->at, at) ||
      !(have->attrs.get<hlo::ConstantAttrs>().literal == literal))
    return {};
  return hlo::InstructionId(matched_++);
}

bool Replay::ends_with(std::span<const hlo::InstructionId> root, bool is_bare,
                       size_t captures) const {
  const hlo::Computation& all = expected_->computation;
  if (captures != expected_->captures) return false;
  if (is_bare) return matched_ == all.instructions.size() && all.root == root[0];
  return matched_ + 1 == all.instructions.size() && all.root == hlo::InstructionId(matched_) &&
         std::ranges::equal(all.root_instruction().operands, root);
}

}  // namespace heddle::trace_internal
