#include "heddle/codegen/plan/passes/share.h"

#include <algorithm>
#include <set>

#include "heddle/codegen/plan/work.h"

namespace heddle::cpu {
namespace {

// Of work_of().
constexpr int64_t kLeastShared = 300'000;  // of a loop: a thread that sleeps wakes up in as long
constexpr int64_t kLeastChunk = 100'000;
constexpr int64_t kMostChunks = 256;
constexpr int64_t kFewestTurns = 8;    // with fewer, inner loops are shared, if they can be

class LoopSharing {
 public:
  explicit LoopSharing(Plan& plan) : plan_(plan) {}

  void visit(BlockId block) {
    for (NodeId id : plan_.at(block).nodes) {
      const Node& node = plan_.at(id);
      if (node.op == Op::kParts) {
        mark(id, node.imm);
        continue;
      }
      if (node.op == Op::kForEach && share(id)) continue;
      for (BlockId inner : plan_.blocks_of(node)) visit(inner);
    }
  }

 private:
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
    const int64_t turns = guessed_turns(plan_, loop), work = work_of(plan_, loop);
    if (turns < 2 || work < kLeastShared) return false;
    if (any_inside(body, [](const Node& node) { return node.op == Op::kKernel; })) return false;
    const bool has_inner = any_inside(body, [&](const Node& node) {
      return node.op == Op::kForEach && work_of(plan_, node) >= kLeastShared;
    });
    if (turns < kFewestTurns && has_inner) return false;
    const int64_t chunks = std::min({work / kLeastChunk, kMostChunks, turns});
    mark(id, (turns + chunks - 1) / chunks * loop.imm);
    return true;
  }

  void mark(NodeId id, int64_t chunk) {
    SharedLoop shared{.chunk = chunk};
    std::set<NodeId> inside, used;
    std::set<BufferId> buffers;
    find_uses(plan_.blocks_of(plan_.at(id))[0], inside, used, buffers);
    std::ranges::set_difference(used, inside, std::back_inserter(shared.captured));
    shared.buffers.assign(buffers.begin(), buffers.end());
    plan_.nodes[id.value].shared = SharedLoopId(plan_.shared_loops.size());
    plan_.shared_loops.push_back(std::move(shared));
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
