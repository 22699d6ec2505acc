// Loops and branches of a plan.
#include <algorithm>
#include <limits>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {

NodeId PlanBuilder::parameter(BlockId block, Type type) {
  const NodeId id = make({.op = Op::kParameter, .type = type}, {});
  plan_.blocks[block.value].parameters.push_back(id);
  return id;
}

PlanBuilder::Region PlanBuilder::open_block(std::span<const NodeId> initial, bool with_index,
                                            bool is_barrier) {
  const BlockId block(plan_.blocks.size());
  plan_.blocks.emplace_back();
  open_.push_back({block, is_barrier});
  Region region;
  if (with_index) region.parameters.push_back(parameter(block, kIndex));
  for (NodeId value : initial) region.parameters.push_back(parameter(block, type(value)));
  return region;
}

BlockId PlanBuilder::close_block(std::span<const NodeId> yields) {
  const BlockId block = open_.back().block;
  plan_.blocks[block.value].yields.assign(yields.begin(), yields.end());
  const std::set<BufferId> written = std::move(open_.back().written);
  open_.pop_back();
  for (BufferId buffer : written) forget(buffer);
  return block;
}

std::vector<NodeId> PlanBuilder::close_control() {
  const Control control = std::move(controls_.back());
  controls_.pop_back();
  const NodeId id = make({.op = control.op, .imm = control.step}, control.args);
  plan_.nodes[id.value].first_block = static_cast<uint32_t>(plan_.block_lists.size());
  plan_.nodes[id.value].block_count = static_cast<uint32_t>(control.blocks.size());
  plan_.block_lists.insert(plan_.block_lists.end(), control.blocks.begin(), control.blocks.end());
  plan_.blocks[open_.back().block.value].nodes.push_back(id);
  std::vector<NodeId> results;
  for (size_t i = 0; i < control.results.size(); ++i) {
    const NodeId arg[] = {id};
    results.push_back(
        make({.op = Op::kResult, .type = control.results[i], .imm = static_cast<int64_t>(i)}, arg));
    plan_.blocks[open_.back().block.value].nodes.push_back(results.back());
  }
  return results;
}

PlanBuilder::Region PlanBuilder::begin_for(NodeId from, NodeId to, int64_t step,
                                           std::span<const NodeId> initial) {
  return begin_counted(Op::kFor, from, to, step, initial);
}

PlanBuilder::Region PlanBuilder::begin_for_each(NodeId from, NodeId to, int64_t step) {
  return begin_counted(Op::kForEach, from, to, step, {});
}

PlanBuilder::Region PlanBuilder::begin_counted(Op op, NodeId from, NodeId to, int64_t step,
                                               std::span<const NodeId> initial) {
  Control control{.op = op, .args = {from, to}, .blocks = {}, .results = {}, .step = step};
  control.is_single = is_constant(from) && is_constant(to) && bits_of(from) < bits_of(to) &&
                      bits_of(from) + step >= bits_of(to);
  for (NodeId value : initial) control.results.push_back(type(value));
  control.args.insert(control.args.end(), initial.begin(), initial.end());
  controls_.push_back(control);
  if (!control.is_single) {
    Region region = open_block(initial, /*with_index=*/true, /*is_barrier=*/false);
    const Bounds begin = bounds(from), end = bounds(to);
    if (is_constant(from) && is_constant(to) && begin.low < end.high)
      assume(region.parameters[0],
             {begin.low, begin.low + (end.high - 1 - begin.low) / step * step});
    else if (end.high > std::numeric_limits<int64_t>::min())
      assume(region.parameters[0], {begin.low, end.high - 1});
    return region;
  }
  Region region{{from}};
  region.parameters.insert(region.parameters.end(), initial.begin(), initial.end());
  return region;
}

std::vector<NodeId> PlanBuilder::end_for(std::span<const NodeId> yields) {
  if (controls_.back().is_single) {
    controls_.pop_back();
    return {yields.begin(), yields.end()};
  }
  controls_.back().blocks.push_back(close_block(yields));
  return close_control();
}

PlanBuilder::Region PlanBuilder::begin_while(std::span<const NodeId> initial, int64_t turns) {
  Control control{.op = Op::kWhile,
                  .args = {initial.begin(), initial.end()},
                  .blocks = {},
                  .results = {},
                  .step = turns};
  for (NodeId value : initial) control.results.push_back(type(value));
  controls_.push_back(std::move(control));
  return open_block(initial, /*with_index=*/false, /*is_barrier=*/false);
}

PlanBuilder::Region PlanBuilder::begin_body(NodeId condition) {
  const NodeId yields[] = {condition};
  controls_.back().blocks.push_back(close_block(yields));
  return open_block(controls_.back().args, /*with_index=*/false, /*is_barrier=*/false);
}

std::vector<NodeId> PlanBuilder::end_while(std::span<const NodeId> yields) {
  controls_.back().blocks.push_back(close_block(yields));
  return close_control();
}

void PlanBuilder::begin_switch(NodeId which, std::span<const Type> results) {
  controls_.push_back({.op = Op::kSwitch,
                       .args = {which},
                       .blocks = {},
                       .results = {results.begin(), results.end()}});
}

void PlanBuilder::begin_branch() { open_block({}, /*with_index=*/false, /*is_barrier=*/true); }

void PlanBuilder::end_branch(std::span<const NodeId> yields) {
  controls_.back().blocks.push_back(close_block(yields));
}

std::vector<NodeId> PlanBuilder::end_switch() { return close_control(); }

}  // namespace heddle::cpu
