#include "heddle/codegen/plan/accesses.h"

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
                                     const std::set<NodeId>& inside, const InnerLoops& inner) {
  const Node& node = plan.at(id);
  if (id == turn) return ElementIndex{.by = 1};
  if (node.op == Op::kConstant && node.type.lanes == 1) return ElementIndex{.offset = node.imm};
  if (const auto loop = inner.find(id); loop != inner.end()) {
    const auto& [from, to, step] = loop->second;
    return ElementIndex{.offset = from, .spread = (to - from - 1) / step * step};
  }
  if (!inside.contains(id)) return ElementIndex{.from = id};
  if (node.op != Op::kAdd && node.op != Op::kMul) return std::nullopt;
  const auto a = index_of(plan, plan.args_of(node)[0], turn, inside, inner);
  const auto b = index_of(plan, plan.args_of(node)[1], turn, inside, inner);
  if (!a || !b) return std::nullopt;
  if (node.op == Op::kAdd) {
    if (a->from.valid() && b->from.valid()) return std::nullopt;
    return ElementIndex{a->by + b->by, a->offset + b->offset, a->from.valid() ? a->from : b->from,
                        a->spread + b->spread};
  }
  const int64_t factor = b->offset;
  if (b->by != 0 || b->spread != 0 || a->from.valid() || b->from.valid() ||
      (factor < 0 && a->spread != 0))
    return std::nullopt;
  return ElementIndex{a->by * factor, a->offset * factor, {}, a->spread * factor};
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

namespace {

// What the node reads or writes, which has no blocks. The index is known for loads and stores at
// affine ones.
Access access_of(const Plan& plan, std::span<const BufferId> same, NodeId id, NodeId turn,
                 const std::set<NodeId>& inside, const InnerLoops& inner) {
  const Node& node = plan.at(id);
  const bool is_plain = node.op == Op::kLoad || node.op == Op::kStore;
  const auto index =
      is_plain ? index_of(plan, plan.args_of(node)[0], turn, inside, inner) : std::nullopt;
  return {same[node.buffer.value], index.value_or(ElementIndex{}), node.type.lanes,
          writes_memory(node.op), index.has_value()};
}

// Whether its accesses do not say all that it touches.
bool is_opaque(const Node& node) {
  return node.block_count > 0 || node.op == Op::kKernel || node.op == Op::kCopy;
}

// False where that is not known.
bool add_accesses(const Plan& plan, std::span<const BufferId> same, NodeId turn, const Block& block,
                  Nest& nest) {
  nest.inside.insert(block.nodes.begin(), block.nodes.end());
  return std::ranges::all_of(block.nodes, [&](NodeId id) {
    const Node& node = plan.at(id);
    if (node.op == Op::kForEach) {
      const auto range = range_of(plan, node);
      if (!range || range->from >= range->to) return false;
      nest.inner[body_of(plan, id).parameters[0]] = *range;
      return add_accesses(plan, same, turn, body_of(plan, id), nest);
    }
    if (is_opaque(node)) return false;
    if (!node.buffer.valid()) return true;
    nest.accesses.push_back(access_of(plan, same, id, turn, nest.inside, nest.inner));
    return nest.accesses.back().is_known;
  });
}

}  // namespace

std::optional<std::vector<Access>> accesses_of(const Plan& plan, std::span<const BufferId> same,
                                               NodeId loop) {
  const Block& body = body_of(plan, loop);
  const std::set<NodeId> inside(body.nodes.begin(), body.nodes.end());
  std::vector<Access> all;
  for (NodeId id : body.nodes) {
    const Node& node = plan.at(id);
    if (is_opaque(node)) return std::nullopt;
    if (!node.buffer.valid()) continue;
    all.push_back(access_of(plan, same, id, body.parameters[0], inside, {}));
  }
  return all;
}

std::optional<Nest> nest_of(const Plan& plan, std::span<const BufferId> same, NodeId loop) {
  Nest nest;
  const Block& body = body_of(plan, loop);
  return add_accesses(plan, same, body.parameters[0], body, nest) ? std::optional(std::move(nest))
                                                                  : std::nullopt;
}

}  // namespace heddle::cpu
