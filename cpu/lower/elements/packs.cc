#include "heddle/cpu/lower/elements/packs.h"

#include <algorithm>
#include <map>

#include "heddle/base/hash.h"
#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/hlo/op.h"

namespace heddle::cpu {
namespace {

constexpr int kLooksBack = 3;  // levels of operands that members have in common

// What the value is made of, `depth` operations back: equal for members of a pack.
base::Hash128 form_of(const Computation& computation, InstructionId id, int depth) {
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

// The members in order, apart where they would take one operand twice: lanes are then as in the
// operand's pack, so that vectors need no shuffle. All together if that would leave too few.
std::vector<std::vector<InstructionId>> parts_of(const Computation& computation,
                                                 const std::vector<InstructionId>& group) {
  const auto operand = [&](InstructionId id, size_t i) { return computation.at(id).operands[i]; };
  const size_t count = computation.at(group[0]).operands.size();
  for (size_t i = 0; i < count; ++i) {
    const bool is_one = std::ranges::all_of(
        group, [&](InstructionId id) { return operand(id, i) == operand(group[0], i); });
    if (is_one) continue;
    std::map<InstructionId, size_t> taken;
    std::vector<std::vector<InstructionId>> parts;
    for (InstructionId id : group) {
      const size_t part = taken[operand(id, i)]++;
      if (part == parts.size()) parts.emplace_back();
      parts[part].push_back(id);
    }
    const bool are_enough =
        std::ranges::all_of(parts, [](const auto& part) { return part.size() >= Packs::kFewest; });
    if (are_enough) return parts;
    break;
  }
  return {group};
}

}  // namespace

Packs::Packs(const Region& region, int64_t lanes) {
  const Computation& computation = region.computation();
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
    for (InstructionId operand : instruction.operands) {
      const InstructionId made = region.leaves()[region.leaf(operand).value].producer;
      level[id.value] = std::max(level[id.value], level[made.value] + 1);
    }
    candidates.push_back(id);
  }
  if (candidates.size() < 2 * kFewest) return;
  std::ranges::sort(candidates);
  std::map<std::pair<int64_t, base::Hash128>, std::vector<InstructionId>> groups;
  for (InstructionId id : candidates)
    groups[{level[id.value], form_of(computation, id, kLooksBack)}].push_back(id);
  // By level, so that operands are in their packs already; then as the program has them.
  std::map<std::pair<int64_t, InstructionId>, const std::vector<InstructionId>*> in_order;
  for (const auto& [key, group] : groups) in_order[{key.first, group[0]}] = &group;
  for (const auto& [key, found] : in_order) {
    const std::vector<InstructionId>& group = *found;
    const int64_t bytes = storage_bytes(computation.at(group[0]).shape.dtype());
    const int64_t most = lanes * 4 / std::max<int64_t>(bytes, 4);
    for (std::vector<InstructionId>& part : parts_of(computation, group)) {
      sort(computation, part);
      add(part, static_cast<size_t>(std::max<int64_t>(most, 1)));
    }
  }
  drop_lone(region);
}

// Drops packs of one operation a lane between scalars of the body: they would be put together and
// taken apart for longer than they are computed, and others wait for them.
void Packs::drop_lone(const Region& region) {
  const Computation& computation = region.computation();
  std::vector<bool> is_lone(members_.size());
  const auto is_scalar = [&](InstructionId id) {
    return pack_of(id) < 0 && computation.at(id).opcode != Opcode::kParameter;
  };
  for (size_t pack = 0; pack < members_.size(); ++pack) {
    const Instruction& first = computation.at(members_[pack][0]);
    is_lone[pack] = hlo::facts(first.opcode).work == hlo::Work::kLittle;
  }
  for (size_t i = 0; i < pack_of_.size(); ++i) {
    const InstructionId id(i);
    const Instruction& user = computation.at(id);
    for (InstructionId operand : user.operands) {
      const int taken = pack_of(operand), own = pack_of(id);
      if (own >= 0 && !is_scalar(region.leaves()[region.leaf(operand).value].producer))
        is_lone[static_cast<size_t>(own)] = false;
      if (taken >= 0 && (own >= 0 || !is_scalar_op(computation, user)))
        is_lone[static_cast<size_t>(taken)] = false;
    }
  }
  for (size_t pack = 0; pack < members_.size(); ++pack) {
    for (InstructionId id : members_[pack]) pack_of_[id.value] = is_lone[pack] ? -1 : pack_of(id);
  }
}

// As the lanes of the first operand that is in packs: its vectors are taken as they are.
void Packs::sort(const Computation& computation, std::vector<InstructionId>& part) const {
  const auto operands = [&](InstructionId id) { return std::span(computation.at(id).operands); };
  for (size_t i = 0; i < operands(part[0]).size(); ++i) {
    const InstructionId first = operands(part[0])[i];
    const bool fits = std::ranges::all_of(part, [&](InstructionId id) {
      return pack_of(operands(id)[i]) >= 0 && (id == part[0] || operands(id)[i] != first);
    });
    if (!fits) continue;
    std::ranges::stable_sort(part, {}, [&](InstructionId id) {
      const InstructionId operand = operands(id)[i];
      return std::pair(pack_of(operand), std::ranges::find(members(pack_of(operand)), operand) -
                                             members(pack_of(operand)).begin());
    });
    return;
  }
}

void Packs::add(std::span<const InstructionId> part, size_t most) {
  for (size_t first = 0; first < part.size(); first += most) {
    const auto members = part.subspan(first, std::min(most, part.size() - first));
    if (members.size() < kFewest) break;
    for (InstructionId id : members) pack_of_[id.value] = static_cast<int>(members_.size());
    members_.emplace_back(members.begin(), members.end());
  }
}

}  // namespace heddle::cpu
