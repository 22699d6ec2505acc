// Groups: elementwise steps of one size that follow each other become one loop. What members of the
// group alone read stays in registers.
#include <algorithm>

#include "heddle/cpu/lower/lowering.h"

namespace heddle::cpu {

namespace {

constexpr size_t kMostMembers = 48;  // of a group: more would not fit into registers

}  // namespace

bool RegionLowering::may_join(InstructionId id) {
  const Instruction& instruction = at(id);
  return instruction.shape.is_array() && !is_node_type(instruction.shape) &&
         is_scalar_op(computation(), instruction) && instruction.shape.element_count() > 0 &&
         is_flat(id);
}

// From the step at `first` on: the members, and the scalars between them that need none of them and
// go before.
RegionLowering::Group RegionLowering::group_at(size_t first) {
  const std::vector<InstructionId>& steps = region_.steps();
  Group group;
  if (!may_join(steps[first])) return group;
  const int64_t size = at(steps[first]).shape.element_count();
  std::vector<bool> of_group(region_.leaves().size());
  for (size_t i = first; i < steps.size() && group.members.size() < kMostMembers; ++i) {
    if (done_[steps[i].value]) continue;
    const auto reads = region_.reads(steps[i]);
    const bool needs_group =
        std::ranges::any_of(reads, [&](LeafId leaf) { return of_group[leaf.value]; });
    if (is_node_type(at(steps[i]).shape) && packs_.pack_of(steps[i]) < 0) {
      if (needs_group) break;
      group.scalars.push_back(steps[i]);
    } else if (at(steps[i]).shape.is_array() && at(steps[i]).shape.element_count() == size &&
               may_join(steps[i])) {
      group.members.push_back(steps[i]);
      of_group[region_.leaf(steps[i]).value] = true;
    } else {
      break;
    }
  }
  return group;
}

void RegionLowering::emit_group(std::span<const InstructionId> members) {
  const PlanBuilder::For made_for(b(), program_.origin(at(members.back())));
  std::vector<int> inner_reads(region_.leaves().size());
  int64_t lanes = program_.program.plan.vector_bytes;
  for (InstructionId id : members) {
    for (LeafId leaf : region_.reads(id)) ++inner_reads[leaf.value];
    lanes = std::min(lanes, lanes_along(id, at(id).shape.element_count()));
  }
  lanes = std::max<int64_t>(lanes, lanes_for(program_.program.plan, widest_scalar(members)));
  std::vector<BufferId> to(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    const LeafId leaf = region_.leaf(members[i]);
    if (region_.read_count(leaf) == inner_reads[leaf.value]) continue;  // nobody else reads it
    to[i] = place_in_group(leaf, members);
  }
  for_each_flat_place(at(members[0]).shape, lanes, [&](const Place& place) {
    Memo memo;
    std::vector<NodeId> values;
    for (InstructionId id : members) {
      values.push_back(b().splat(lazy_element(at(id), place, memo), place.lanes));
      memo.emplace(std::pair(region_.leaf(id).value, place.coordinates), values.back());
    }
    for (size_t i = 0; i < members.size(); ++i) {  // after all loads
      if (to[i].valid()) store_at(to[i], at(members[i]).shape, place, values[i]);
    }
  });
  for (size_t i = 0; i < members.size(); ++i) {
    if (!to[i].valid()) continue;
    const LeafId leaf = region_.leaf(members[i]);
    bind(leaf, Value::of(to[i]));
    program_.state(to[i]).pending -= inner_reads[leaf.value];  // these are done
  }
  program_.program.loop_steps += static_cast<int64_t>(members.size());
}

// As place_for(): all that the group reads of an old value it reads where it writes.
BufferId RegionLowering::place_in_group(LeafId leaf, std::span<const InstructionId> members) {
  const BufferId wanted = wanted_[leaf.value];
  if (!wanted.valid()) return program_.allocate(shape(leaf));
  int own = 0;
  for (InstructionId id : members) {
    for (LeafId read : region_.reads(id)) {
      const Value& value = values_[read.value];
      if (value.is_buffer() && value.buffer == wanted) ++own;
    }
  }
  if (program_.state(wanted).pending != own) return program_.allocate(shape(leaf));
  program_.touch(wanted);
  return wanted;
}

}  // namespace heddle::cpu
