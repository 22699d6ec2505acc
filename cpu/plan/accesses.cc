#include "heddle/cpu/plan/accesses.h"

#include <algorithm>

namespace heddle::cpu {
namespace {

BufferId find(const Plan& plan, BufferInfo::Kind kind, int64_t index) {
  const auto found = std::ranges::find_if(plan.buffers, [&](const BufferInfo& buffer) {
    return buffer.kind == kind && buffer.index == index;
  });
  return BufferId(static_cast<size_t>(found - plan.buffers.begin()));
}

}  // namespace

std::optional<LoopRange> range_of(const Plan& plan, const Node& loop) {
  const Node &from = plan.at(plan.args_of(loop)[0]), &to = plan.at(plan.args_of(loop)[1]);
  if (from.op != Op::kConstant || to.op != Op::kConstant) return std::nullopt;
  return LoopRange{from.imm, to.imm, loop.imm};
}

std::optional<ElementIndex> index_of(const Plan& plan, NodeId id, NodeId turn,
                                     const std::set<NodeId>& inside) {
  const Node& node = plan.at(id);
  if (id == turn) return ElementIndex{.by = 1};
  if (node.op == Op::kConstant && node.type.lanes == 1) return ElementIndex{.offset = node.imm};
  if (!inside.contains(id)) return ElementIndex{.from = id};
  if (node.op != Op::kAdd && node.op != Op::kMul) return std::nullopt;
  const auto a = index_of(plan, plan.args_of(node)[0], turn, inside);
  const auto b = index_of(plan, plan.args_of(node)[1], turn, inside);
  if (!a || !b) return std::nullopt;
  if (node.op == Op::kAdd) {
    if (a->from.valid() && b->from.valid()) return std::nullopt;
    return ElementIndex{a->by + b->by, a->offset + b->offset, a->from.valid() ? a->from : b->from};
  }
  if (b->by != 0 || a->from.valid() || b->from.valid()) return std::nullopt;
  return ElementIndex{a->by * b->offset, a->offset * b->offset, {}};
}

std::vector<BufferId> same_memory(const Plan& plan,
                                  std::span<const std::pair<int64_t, int64_t>> taken) {
  std::vector<BufferId> same(plan.buffers.size());
  for (size_t i = 0; i < same.size(); ++i) same[i] = BufferId(i);
  for (const auto& [argument, result] : taken)
    same[find(plan, BufferInfo::Kind::kArgument, argument).value] =
        find(plan, BufferInfo::Kind::kResult, result);
  return same;
}

std::optional<std::vector<Access>> accesses_of(const Plan& plan, std::span<const BufferId> same,
                                               NodeId loop) {
  const Block& body = body_of(plan, loop);
  const std::set<NodeId> inside(body.nodes.begin(), body.nodes.end());
  std::vector<Access> all;
  for (NodeId id : body.nodes) {
    const Node& node = plan.at(id);
    if (node.block_count > 0 || node.op == Op::kKernel || node.op == Op::kCopy) return std::nullopt;
    if (!node.buffer.valid()) continue;
    const bool is_plain = node.op == Op::kLoad || node.op == Op::kStore;
    const auto index =
        is_plain ? index_of(plan, plan.args_of(node)[0], body.parameters[0], inside) : std::nullopt;
    all.push_back({same[node.buffer.value], index.value_or(ElementIndex{}), node.type.lanes,
                   writes_memory(node.op), index.has_value()});
  }
  return all;
}

}  // namespace heddle::cpu
