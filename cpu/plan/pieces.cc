#include "heddle/cpu/plan/pieces.h"

#include <algorithm>
#include <set>

namespace heddle::cpu {
namespace {

// Those of all lanes: a vector that is wider than the machine's takes several.
int64_t code_size(const Plan& plan, const Node& node) {
  const int64_t lanes = node.type.lanes;
  switch (node.op) {
    case Op::kConstant:
    case Op::kLanes:
    case Op::kParameter:
    case Op::kResult: return 0;
    case Op::kMath: return 3 * lanes;
    case Op::kGather:
    case Op::kScatter: return 4 * lanes;
    case Op::kShuffle: return 4 * static_cast<int64_t>(node.arg_count);
    case Op::kKernel: return 8;
    default: break;
  }
  int64_t size = (lanes * bytes_of(node.type.scalar) + plan.vector_bytes - 1) / plan.vector_bytes;
  for (BlockId block : plan.blocks_of(node)) size += code_size(plan, block);
  return size;
}

// What nodes use, with those in their blocks.
struct Uses {
  std::set<NodeId> inside, used;
  std::set<BufferId> buffers;

  void add(const Plan& plan, std::span<const NodeId> nodes) {
    inside.insert(nodes.begin(), nodes.end());
    for (NodeId id : nodes) {
      const Node& node = plan.at(id);
      used.insert(plan.args_of(node).begin(), plan.args_of(node).end());
      for (BufferId buffer : {node.buffer, node.buffer2}) {
        if (buffer.valid()) buffers.insert(buffer);
      }
      if (node.op == Op::kKernel) {
        const auto& more = plan.kernels[static_cast<size_t>(node.imm)].buffers;
        buffers.insert(more.begin(), more.end());
      }
      for (BlockId block : plan.blocks_of(node)) {
        const Block& inner = plan.at(block);
        inside.insert(inner.parameters.begin(), inner.parameters.end());
        used.insert(inner.yields.begin(), inner.yields.end());
        add(plan, inner.nodes);
      }
    }
  }
};

bool is_literal(const Node& node) { return node.op == Op::kConstant || node.op == Op::kLanes; }

}  // namespace

int64_t code_size(const Plan& plan, BlockId block) {
  int64_t size = 0;
  for (NodeId id : plan.at(block).nodes) size += code_size(plan, plan.at(id));
  return size;
}

Pieces cut(const Plan& plan, BlockId block, int64_t size) {
  const std::vector<NodeId>& nodes = plan.at(block).nodes;
  Pieces out;
  std::set<NodeId> kept(plan.at(block).yields.begin(), plan.at(block).yields.end());
  for (size_t first = 0; first < nodes.size();) {
    size_t last = first;
    for (int64_t sum = 0; last < nodes.size(); ++last) {
      if (sum >= size && plan.at(nodes[last]).op != Op::kResult) break;
      sum += code_size(plan, plan.at(nodes[last]));
    }
    Piece piece{
        .nodes = std::span(nodes).subspan(first, last - first), .inputs = {}, .buffers = {}};
    Uses uses;
    uses.add(plan, piece.nodes);
    for (NodeId id : uses.used) {
      if (!uses.inside.contains(id) && !is_literal(plan.at(id))) piece.inputs.push_back(id);
    }
    kept.insert(piece.inputs.begin(), piece.inputs.end());
    piece.buffers.assign(uses.buffers.begin(), uses.buffers.end());
    out.pieces.push_back(std::move(piece));
    first = last;
  }
  for (NodeId id : nodes) {
    if (kept.contains(id) && !is_literal(plan.at(id))) out.kept.push_back(id);
  }
  return out;
}

}  // namespace heddle::cpu
