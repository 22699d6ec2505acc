#include "heddle/cpu/lower/packs.h"

#include <algorithm>
#include <map>

#include "heddle/base/hash.h"
#include "heddle/cpu/lower/scalar_ops.h"

namespace heddle::cpu {
namespace {

using hlo::Instruction;
using hlo::InstructionId;
using hlo::Opcode;

constexpr int kLooksBack = 3;  // levels of operands that members have in common

// What the value is made of, `depth` operations back: equal for members of a pack.
base::Hash128 form_of(const hlo::Computation& computation, InstructionId id, int depth) {
  const Instruction& instruction = computation.at(id);
  base::Hasher hasher;
  hash_value(hasher, instruction.shape.dtype());
  // A constant is known by its value, another scalar by how it is computed.
  if (instruction.opcode == Opcode::kConstant || is_scalar_op(computation, instruction)) {
    Instruction alone = instruction;
    alone.operands.clear();
    hash_value(hasher, hlo::hash_of(alone));
    for (InstructionId operand : instruction.operands) {
      if (depth > 0) hash_value(hasher, form_of(computation, operand, depth - 1));
    }
  }
  return hasher.digest();
}

}  // namespace

Packs::Packs(const Region& region, int64_t lanes) {
  const hlo::Computation& computation = region.computation();
  const auto count = static_cast<size_t>(computation.size());
  pack_of_.assign(count, -1);
  // Operations back to what is not computed here from scalars: members do not depend on each other.
  std::vector<int64_t> level(count);
  std::vector<InstructionId> candidates;
  for (InstructionId id : region.steps()) {
    const Instruction& instruction = computation.at(id);
    const bool takes_scalars = std::ranges::all_of(
        instruction.operands,
        [&](InstructionId operand) { return computation.at(operand).shape.is_scalar(); });
    if (!instruction.shape.is_scalar() || !takes_scalars || !is_scalar_op(computation, instruction))
      continue;
    for (InstructionId operand : instruction.operands)
      level[id.value] = std::max(level[id.value], level[operand.value] + 1);
    candidates.push_back(id);
  }
  if (candidates.size() < 2 * kFewest) return;
  std::ranges::sort(candidates);
  std::map<std::pair<int64_t, base::Hash128>, std::vector<InstructionId>> groups;
  for (InstructionId id : candidates)
    groups[{level[id.value], form_of(computation, id, kLooksBack)}].push_back(id);
  for (const auto& [key, group] : groups) {
    const int64_t bytes = storage_bytes(computation.at(group[0]).shape.dtype());
    const auto most =
        static_cast<size_t>(std::max<int64_t>(lanes * 4 / std::max<int64_t>(bytes, 4), 1));
    for (size_t first = 0; first < group.size(); first += most) {
      const size_t size = std::min(most, group.size() - first);
      if (size < kFewest) break;
      for (size_t i = first; i < first + size; ++i)
        pack_of_[group[i].value] = static_cast<int>(members_.size());
      members_.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(first),
                            group.begin() + static_cast<std::ptrdiff_t>(first + size));
    }
  }
}

}  // namespace heddle::cpu
