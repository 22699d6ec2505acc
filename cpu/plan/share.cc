#include "heddle/cpu/plan/share.h"

#include <algorithm>
#include <set>

namespace heddle::cpu {
namespace {

// Work is in tenths of a nanosecond, as a vector machine of 2022 needs.
constexpr int64_t kLeastShared = 300'000;  // of a loop: a thread that sleeps wakes up in as long
constexpr int64_t kLeastChunk = 100'000;
constexpr int64_t kMostChunks = 256;
constexpr int64_t kFewestTurns = 8;    // with fewer, inner loops are shared, if they can be
constexpr int64_t kUnknownTurns = 16;  // of loops whose bounds are not known
constexpr int64_t kMost = int64_t{1} << 60;

// Work that is a sum and a product of others stays below kMost.
int64_t times(int64_t work, int64_t turns) {
  return work > kMost / std::max<int64_t>(turns, 1) ? kMost : work * turns;
}

class LoopSharing {
 public:
  explicit LoopSharing(Plan& plan) : plan_(plan) {}

  void visit(BlockId block) {
    for (NodeId id : plan_.at(block).nodes) {
      const Node& node = plan_.at(id);
      if (node.op == Op::kForEach && share(id)) continue;
      for (BlockId inner : plan_.blocks_of(node)) visit(inner);
    }
  }

 private:
  [[nodiscard]] int64_t turns_of(const Node& loop) const {
    const Node &from = plan_.at(plan_.args_of(loop)[0]), &to = plan_.at(plan_.args_of(loop)[1]);
    if (from.op != Op::kConstant || to.op != Op::kConstant) return kUnknownTurns;
    return (to.imm - from.imm + loop.imm - 1) / loop.imm;
  }

  [[nodiscard]] int64_t work_of(BlockId block) const {
    int64_t work = 0;
    for (NodeId id : plan_.at(block).nodes) work = std::min(work + work_of(plan_.at(id)), kMost);
    return work;
  }

  [[nodiscard]] int64_t work_of(const Node& node) const {
    const auto blocks = plan_.blocks_of(node);
    const int64_t lanes = node.type.lanes;
    switch (node.op) {
      case Op::kConstant:
      case Op::kLanes:
      case Op::kParameter:
      case Op::kResult:
      case Op::kExtract:
      case Op::kSplat: return 0;
      case Op::kDiv:
      case Op::kSqrt: return 15;
      case Op::kSDiv:
      case Op::kUDiv:
      case Op::kSRem:
      case Op::kURem: return 40 * lanes;
      case Op::kMath: return 100 * lanes;
      case Op::kGather:
      case Op::kScatter: return 5 * lanes;
      case Op::kLoad:
      case Op::kStore: return 8;
      case Op::kCopy: return node.imm / 4;
      case Op::kFor:
      case Op::kForEach: return times(work_of(blocks[0]), turns_of(node));
      case Op::kWhile: return times(work_of(blocks[0]) + work_of(blocks[1]), kUnknownTurns);
      case Op::kSwitch: {
        int64_t least = kMost;
        for (BlockId block : blocks) least = std::min(least, work_of(block));
        return least;
      }
      default: return 2;
    }
  }

  [[nodiscard]] bool any_inside(BlockId block, const auto& test) const {
    return std::ranges::any_of(plan_.at(block).nodes, [&](NodeId id) {
      const Node& node = plan_.at(id);
      return test(node) || std::ranges::any_of(plan_.blocks_of(node), [&](BlockId inner) {
               return any_inside(inner, test);
             });
    });
  }

  bool share(NodeId id) {
    const Node& loop = plan_.at(id);
    const BlockId body = plan_.blocks_of(loop)[0];
    const int64_t turns = turns_of(loop), work = work_of(loop);
    if (turns < 2 || work < kLeastShared) return false;
    if (any_inside(body, [](const Node& node) { return node.op == Op::kKernel; })) return false;
    const bool has_inner = any_inside(body, [&](const Node& node) {
      return node.op == Op::kForEach && work_of(node) >= kLeastShared;
    });
    if (turns < kFewestTurns && has_inner) return false;
    const int64_t chunks = std::min({work / kLeastChunk, kMostChunks, turns});
    SharedLoop shared{.chunk = (turns + chunks - 1) / chunks * loop.imm};
    std::set<NodeId> inside, used;
    std::set<BufferId> buffers;
    find_uses(body, inside, used, buffers);
    std::ranges::set_difference(used, inside, std::back_inserter(shared.captured));
    shared.buffers.assign(buffers.begin(), buffers.end());
    plan_.nodes[id.value].shared = SharedLoopId(plan_.shared_loops.size());
    plan_.shared_loops.push_back(std::move(shared));
    return true;
  }

  void find_uses(BlockId id, std::set<NodeId>& inside, std::set<NodeId>& used,
                 std::set<BufferId>& buffers) const {
    const Block& block = plan_.at(id);
    inside.insert(block.parameters.begin(), block.parameters.end());
    inside.insert(block.nodes.begin(), block.nodes.end());
    used.insert(block.yields.begin(), block.yields.end());
    for (NodeId node_id : block.nodes) {
      const Node& node = plan_.at(node_id);
      used.insert(plan_.args_of(node).begin(), plan_.args_of(node).end());
      for (BufferId buffer : {node.buffer, node.buffer2}) {
        if (buffer.valid()) buffers.insert(buffer);
      }
      for (BlockId inner : plan_.blocks_of(node)) find_uses(inner, inside, used, buffers);
    }
  }

  Plan& plan_;
};

}  // namespace

void share_loops(Plan& plan) { LoopSharing(plan).visit(plan.entry); }

}  // namespace heddle::cpu
