// Packs of scalars as vectors.
#include <algorithm>

#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {

void RegionLowering::set_lane(LeafId leaf, NodeId vector, int64_t lane) {
  lanes_[leaf.value] = {vector, lane};
  values_[leaf.value] = Value::of(b().extract(vector, lane));
}

// Makes what is missing, as far as that needs scalars alone.
bool RegionLowering::have_operands(InstructionId id) {
  for (InstructionId operand : at(id).operands) {
    const LeafId leaf = region_.leaf(operand);
    if (values_[leaf.value].is_node() || region_.is_lazy(leaf)) continue;
    const int pack = packs_.pack_of(region_.leaves()[leaf.value].producer);
    if (pack < 0 || !emit_pack(pack)) return false;
  }
  return true;
}

bool RegionLowering::emit_pack(int pack) {
  const std::vector<InstructionId>& members = packs_.members(pack);
  if (dissolved_[static_cast<size_t>(pack)]) return false;
  if (values_[region_.leaf(members[0]).value].is_node()) return true;
  if (!std::ranges::all_of(members, [&](InstructionId id) { return have_operands(id); })) {
    dissolved_[static_cast<size_t>(pack)] = true;
    return false;
  }
  const PlanBuilder::For made_for(b(), program_.origin(at(members[0])));
  std::vector<NodeId> operands;
  for (size_t i = 0; i < at(members[0]).operands.size(); ++i) {
    std::vector<LeafId> leaves;
    for (InstructionId member : members) leaves.push_back(region_.leaf(at(member).operands[i]));
    operands.push_back(vector_of(leaves));
  }
  NodeId value = apply(b(), computation(), at(members[0]), operands);
  value = b().splat(value, static_cast<int32_t>(members.size()));
  for (size_t lane = 0; lane < members.size(); ++lane)
    set_lane(region_.leaf(members[lane]), value, static_cast<int64_t>(lane));
  program_.program.loop_steps += static_cast<int64_t>(members.size());
  return true;
}

NodeId RegionLowering::vector_of(std::span<const LeafId> leaves) {
  const std::vector<LeafId> key(leaves.begin(), leaves.end());
  if (auto found = vectors_.find(key); found != vectors_.end()) return found->second;
  Memo memo;
  const auto all = [&](const auto& fits) { return std::ranges::all_of(leaves, fits); };
  const Lane first = lanes_[leaves[0].value];
  NodeId vector;
  if (all([&](LeafId leaf) { return leaf == leaves[0]; })) {
    vector = b().splat(element(leaves[0], {}, memo), static_cast<int32_t>(leaves.size()));
  } else if (first.vector.valid() && first.lane == 0 &&
             b().type(first.vector).lanes == static_cast<int32_t>(leaves.size()) &&
             all([&](const LeafId& leaf) {
               return lanes_[leaf.value].vector == first.vector &&
                      lanes_[leaf.value].lane == &leaf - leaves.data();
             })) {
    vector = first.vector;
  } else {
    std::vector<NodeId> operands;
    std::vector<LaneSource> sources;
    for (LeafId leaf : leaves) {
      const Lane& lane = lanes_[leaf.value];
      const NodeId from = lane.vector.valid() ? lane.vector : element(leaf, {}, memo);
      const auto found = std::ranges::find(operands, from);
      sources.push_back({static_cast<uint32_t>(found - operands.begin()),
                         static_cast<uint32_t>(lane.vector.valid() ? lane.lane : 0)});
      if (found == operands.end()) operands.push_back(from);
    }
    vector = b().shuffle(operands, std::move(sources));
  }
  vectors_.emplace(key, vector);
  return vector;
}

}  // namespace heddle::cpu
