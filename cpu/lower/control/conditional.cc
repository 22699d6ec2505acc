// conditional as control flow of the plan.
#include <algorithm>
#include <map>
#include <set>

#include "heddle/cpu/lower/elements/scalar_ops.h"
#include "heddle/cpu/lower/hold.h"
#include "heddle/cpu/lower/lowering.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

// The regions of computations within a region, made once.
using InnerRegions = std::map<ComputationId, Region>;

int64_t updated_parameter(const hlo::Module& module, const Region& region, LeafId leaf,
                          InnerRegions& inner);

// The operand whose memory result `number` of a conditional may be made in. Invalid: none.
LeafId updated_in_branches(const hlo::Module& module, const Region& region,
                           const Instruction& conditional, size_t number, InnerRegions& inner) {
  LeafId same;
  for (size_t k = 0; k < conditional.called.size(); ++k) {
    const ComputationId called = conditional.called[k];
    const Region& branch = inner.try_emplace(called, module, module.at(called)).first->second;
    const int64_t parameter = updated_parameter(module, branch, branch.results()[number], inner);
    if (parameter < 0) return {};
    const LeafId given =
        region.leaves_of(conditional.operands[k + 1])[static_cast<size_t>(parameter)];
    if (k > 0 && given != same) return {};
    same = given;
  }
  return same;
}

// The leaves whose memory a leaf that a step gives may be made in: what it updates, or each operand
// of an elementwise step.
std::vector<LeafId> updated_leaves(const hlo::Module& module, const Region& region, LeafId leaf,
                                   InnerRegions& inner) {
  const InstructionId id = region.leaves()[leaf.value].producer;
  const Instruction& producer = region.computation().at(id);
  const auto number = static_cast<size_t>(leaf.value - region.leaf(id).value);
  if (producer.opcode == Opcode::kWhile) return {region.leaves_of(producer.operands[0])[number]};
  if (producer.opcode == Opcode::kConditional)
    return {updated_in_branches(module, region, producer, number, inner)};
  if (number < updated_operands(producer) || lies_as_operand(region.computation(), producer))
    return {region.leaf(producer.operands[number])};
  std::vector<LeafId> operands;
  if (is_scalar_op(region.computation(), producer)) {
    for (const InstructionId operand : producer.operands)
      if (region.computation().at(operand).shape == producer.shape)
        operands.push_back(region.leaf(operand));
  }
  return operands;
}

// The parameter whose memory a result may be made in: what it updates, at last. -1: none.
int64_t updated_parameter(const hlo::Module& module, const Region& region, LeafId leaf,
                          InnerRegions& inner) {
  std::vector<LeafId> todo = {leaf};
  std::set<LeafId> seen;
  while (!todo.empty()) {
    const LeafId next = todo.back();
    todo.pop_back();
    if (!next.valid() || !seen.insert(next).second) continue;
    const auto& parameters = region.parameters();
    const auto found = std::ranges::find(parameters, next);
    if (found != parameters.end()) return found - parameters.begin();
    const std::vector<LeafId> updated = updated_leaves(module, region, next, inner);
    todo.insert(todo.end(), updated.rbegin(), updated.rend());
  }
  return -1;
}

}  // namespace

// A conditional, and where its results are made.
struct RegionLowering::Branches {
  InstructionId id;
  const Instruction& conditional;
  std::span<const LeafId> results;
  std::vector<Region> regions;
  std::vector<BufferId> places;  // of results that are arrays
  std::vector<BufferId> taken;   // those that hold an operand of the branches
  Memo memo;
};

// A number for the switch: the last branch's where there is no such branch.
NodeId RegionLowering::branch_number(Branches& branches) {
  const InstructionId number = branches.conditional.operands[0];
  const NodeId which = element(region_.leaf(number), {}, branches.memo);
  if (at(number).shape.dtype() == pred)  // true first
    return b().select(which, b().index(0), b().index(1));
  const auto count = std::ssize(branches.regions);
  const NodeId index = as_index(b(), s32, which);
  const NodeId in_range = b().compare(Predicate::kULt, index, b().index(count));
  return b().select(in_range, index, b().index(count - 1));
}

LeafId RegionLowering::argument(const Branches& branches, size_t branch, size_t parameter) {
  return region_.leaves_of(branches.conditional.operands[branch + 1])[parameter];
}

// Each result is made where its old value is, if all branches update the same array.
void RegionLowering::find_places(Branches& branches) {
  InnerRegions inner;
  for (size_t r = 0; r < branches.results.size(); ++r) {
    BufferId& place = branches.places.emplace_back();
    if (is_node_type(shape(branches.results[r]))) continue;
    BufferId same;
    for (size_t k = 0; k < branches.regions.size(); ++k) {
      const Region& region = branches.regions[k];
      const int64_t parameter =
          updated_parameter(program_.module, region, region.results()[r], inner);
      const Value value =
          parameter < 0 ? Value{}
                        : values_[argument(branches, k, static_cast<size_t>(parameter)).value];
      if (!value.is_buffer() || (k > 0 && value.buffer != same)) {
        same = {};
        break;
      }
      same = value.buffer;
    }
    const bool fits = same.valid() && program_.state(same).is_writable &&
                      program_.state(same).pending == 1 &&
                      !std::ranges::count(branches.taken, same);
    if (fits) branches.taken.push_back(same);
    place = fits ? same : place_for(branches.results[r], branches.id);
  }
}

Status RegionLowering::emit_branch(Branches& branches, size_t number) {
  const Region& region = branches.regions[number];
  Hold held(program_);
  for (LeafId read : region_.reads(branches.id)) {  // the branch before may have read it last
    if (values_[read.value].is_buffer()) program_.touch(values_[read.value].buffer);
  }
  std::vector<Value> arguments;
  for (size_t p = 0; p < region.parameters().size(); ++p) {
    const LeafId leaf = argument(branches, number, p);
    Value& value = arguments.emplace_back(values_[leaf.value]);
    if (is_node_type(shape(leaf))) {
      value = Value::of(element(leaf, {}, branches.memo));
    } else if (region_.is_lazy(leaf) && region.read_count(region.parameters()[p]) > 0) {
      value = Value::of(program_.allocate(shape(leaf)));
      write_leaf(leaf, value.buffer);
    }
    if (value.is_buffer() && !std::ranges::count(branches.taken, value.buffer)) held.add(value);
  }
  for (BufferId buffer : branches.taken) program_.state(buffer).pending = 0;
  RegionLowering inner(program_, region, arguments);
  inner.want_results(branches.places);
  HEDDLE_RETURN_IF_ERROR(inner.run());
  std::vector<NodeId> yields;
  std::vector<BufferId> from(branches.results.size());
  for (size_t r = 0; r < from.size(); ++r) {
    const Value value = inner.result(r);
    if (value.is_node()) yields.push_back(value.node);
    if (value.is_buffer()) from[r] = value.buffer;
  }
  put_in_places(branches.results, branches.places, std::move(from));
  inner.release_results();
  b().end_branch(yields);
  return {};
}

Status RegionLowering::emit_conditional(InstructionId id) {
  Branches branches{id, at(id), region_.leaves_of(id)};
  for (ComputationId called : branches.conditional.called)
    branches.regions.emplace_back(program_.module, program_.module.at(called));
  const NodeId which = branch_number(branches);
  find_places(branches);
  std::vector<Type> types;
  for (LeafId result : branches.results) {
    if (is_node_type(shape(result))) types.push_back({scalar_type(shape(result)), 1});
  }
  b().begin_switch(which, types);
  for (size_t k = 0; k < branches.regions.size(); ++k) {
    b().begin_branch();
    HEDDLE_RETURN_IF_ERROR(emit_branch(branches, k));
  }
  for (BufferId buffer : branches.taken) program_.state(buffer).pending = 1;  // this step's own
  const std::vector<NodeId> nodes = b().end_switch();
  for (size_t r = 0, next = 0; r < branches.results.size(); ++r) {
    const BufferId place = branches.places[r];
    bind(branches.results[r], place.valid() ? Value::of(place) : Value::of(nodes[next++]));
  }
  return {};
}

}  // namespace heddle::cpu
