#include "heddle/codegen/plan/passes/lanes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace heddle::cpu {
namespace {

constexpr int32_t kMostLanes = 16;

class Parting {
 public:
  explicit Parting(Plan& plan) : plan_(plan) {}

  void visit(BlockId block) {
    for (size_t i = 0; i < plan_.at(block).nodes.size(); ++i) {
      const NodeId id = plan_.at(block).nodes[i];
      const auto inner = plan_.blocks_of(plan_.at(id));
      for (BlockId each : std::vector(inner.begin(), inner.end())) visit(each);
      if (plan_.at(id).op == Op::kWhile) i += part(block, i);
    }
  }

 private:
  // Takes the loop's vectors apart. returns: how many nodes it has put before the loop
  size_t part(BlockId block, size_t at) {
    const NodeId loop = plan_.at(block).nodes[at];
    const auto blocks = plan_.blocks_of(plan_.at(loop));
    const BlockId condition = blocks[0], body = blocks[1];
    size_t before = 0;
    const size_t count = plan_.at(loop).arg_count;
    for (size_t number = 0; number < count; ++number) {
      const Type type = plan_.at(plan_.at(body).parameters[number]).type;
      if (type.lanes < 2 || type.lanes > kMostLanes) continue;
      if (is_used_whole(condition, plan_.at(condition).parameters[number]) ||
          is_used_whole(body, plan_.at(body).parameters[number]))
        continue;
      if (std::vector<NodeId> next = scalars_of_yield(body, number); !next.empty())
        before += take_apart(block, at + before, number, std::move(next));
    }
    return before;
  }

  // Other than by its lanes, in the block itself.
  [[nodiscard]] bool is_used_whole(BlockId block, NodeId vector) const {
    if (std::ranges::count(plan_.at(block).yields, vector) > 0) return true;
    return std::ranges::any_of(plan_.at(block).nodes, [&](NodeId id) {
      const Node& node = plan_.at(id);
      const auto uses_it = [&](BlockId inner) { return is_used(inner, vector); };
      return std::ranges::any_of(plan_.blocks_of(node), uses_it) ||
             (node.op != Op::kExtract && std::ranges::count(plan_.args_of(node), vector) > 0);
    });
  }
  [[nodiscard]] bool is_used(BlockId block, NodeId vector) const {
    return is_used_whole(block, vector) ||
           std::ranges::any_of(plan_.at(block).nodes, [&](NodeId id) {
             return std::ranges::count(plan_.args_of(plan_.at(id)), vector) > 0;
           });
  }

  // By lane; empty where one is no scalar of the turn.
  [[nodiscard]] std::vector<NodeId> scalars_of_yield(BlockId body, size_t number) {
    const NodeId yield = plan_.at(body).yields[number];
    constants_.clear();
    std::vector<NodeId> scalars;
    for (int32_t lane = 0; lane < plan_.at(yield).type.lanes; ++lane) {
      const std::optional<NodeId> scalar = scalar_at(yield, lane);
      if (!scalar) return {};
      scalars.push_back(*scalar);
    }
    return scalars;
  }

  std::optional<NodeId> scalar_at(NodeId id, int32_t lane) {
    const Node node = plan_.at(id);
    if (node.type.lanes == 1) return id;
    if (node.op == Op::kSplat) return plan_.args_of(node)[0];
    if (node.op == Op::kConstant) {
      const Type type{node.type.scalar, 1};
      constants_.push_back(plan_.add({.op = Op::kConstant, .type = type, .imm = node.imm}, {}));
      return constants_.back();
    }
    if (node.op != Op::kShuffle) return std::nullopt;
    const LaneSource source =
        plan_.shuffles[static_cast<size_t>(node.imm)][static_cast<size_t>(lane)];
    return scalar_at(plan_.args_of(node)[source.operand], static_cast<int32_t>(source.lane));
  }

  NodeId add(const Node& node, std::vector<NodeId> args) { return plan_.add(node, args); }

  size_t take_apart(BlockId block, size_t at, size_t number, std::vector<NodeId> next) {
    const NodeId loop = plan_.at(block).nodes[at];
    const auto blocks = plan_.blocks_of(plan_.at(loop));
    const BlockId condition = blocks[0], body = blocks[1];
    const NodeId vector = plan_.at(body).parameters[number],
                 tested = plan_.at(condition).parameters[number];
    const Type type = plan_.at(vector).type, one{type.scalar, 1};
    std::vector<NodeId> args(plan_.args_of(plan_.at(loop)).begin(),
                             plan_.args_of(plan_.at(loop)).end());
    const NodeId initial = args[number];
    std::vector<NodeId> before, lanes, tested_lanes, behind;
    std::vector<LaneSource> sources;
    for (int32_t lane = 0; lane < type.lanes; ++lane) {
      const size_t place = lane == 0 ? number : args.size();
      if (lane > 0) {
        args.emplace_back();
        for (BlockId each : {condition, body}) plan_.blocks[each.value].parameters.emplace_back();
        plan_.blocks[body.value].yields.emplace_back();
      }
      before.push_back(add({.op = Op::kExtract, .type = one, .imm = lane}, {initial}));
      args[place] = before.back();
      for (BlockId each : {condition, body})
        plan_.blocks[each.value].parameters[place] = add({.op = Op::kParameter, .type = one}, {});
      lanes.push_back(plan_.at(body).parameters[place]);
      tested_lanes.push_back(plan_.at(condition).parameters[place]);
      plan_.blocks[body.value].yields[place] = next[static_cast<size_t>(lane)];
      behind.push_back(
          add({.op = Op::kResult, .type = one, .imm = static_cast<int64_t>(place)}, {loop}));
      sources.push_back({static_cast<uint32_t>(lane), 0});
    }
    plan_.shuffles.push_back(std::move(sources));
    const NodeId whole = add(
        {.op = Op::kShuffle, .type = type, .imm = static_cast<int64_t>(plan_.shuffles.size()) - 1},
        behind);
    behind.push_back(whole);
    plan_.nodes[loop.value].first_arg = static_cast<uint32_t>(plan_.args.size());
    plan_.nodes[loop.value].arg_count = static_cast<uint32_t>(args.size());
    plan_.args.insert(plan_.args.end(), args.begin(), args.end());
    use_lanes(body, vector, lanes);
    use_lanes(condition, tested, tested_lanes);
    use_whole(block, loop, number, whole);
    std::vector<NodeId>& inside = plan_.blocks[body.value].nodes;
    inside.insert(inside.begin(), constants_.begin(), constants_.end());
    constants_.clear();
    std::vector<NodeId>& nodes = plan_.blocks[block.value].nodes;
    const auto place = nodes.begin() + static_cast<std::ptrdiff_t>(at);
    nodes.insert(place + 1, behind.begin(), behind.end());
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at), before.begin(), before.end());
    return before.size();
  }

  // Extracts of the vector are the scalars.
  void use_lanes(BlockId block, NodeId vector, const std::vector<NodeId>& lanes) {
    std::map<NodeId, NodeId> instead;
    for (NodeId id : plan_.at(block).nodes) {
      const Node& node = plan_.at(id);
      if (node.op == Op::kExtract && plan_.args_of(node)[0] == vector)
        instead[id] = lanes[static_cast<size_t>(node.imm)];
    }
    replace(instead);
    std::erase_if(plan_.blocks[block.value].nodes, [&](NodeId id) { return instead.contains(id); });
  }

  void use_whole(BlockId block, NodeId loop, size_t number, NodeId whole) {
    std::map<NodeId, NodeId> instead;
    std::erase_if(plan_.blocks[block.value].nodes, [&](NodeId id) {
      const Node& node = plan_.at(id);
      const bool is_old = node.op == Op::kResult && plan_.args_of(node)[0] == loop &&
                          node.imm == static_cast<int64_t>(number);
      if (is_old) instead[id] = whole;
      return is_old;
    });
    replace(instead);
  }

  void replace(const std::map<NodeId, NodeId>& instead) {
    const auto change = [&](NodeId& id) {
      if (const auto found = instead.find(id); found != instead.end()) id = found->second;
    };
    std::ranges::for_each(plan_.args, change);
    for (Block& block : plan_.blocks) std::ranges::for_each(block.yields, change);
  }

  Plan& plan_;
  std::vector<NodeId> constants_;  // of scalar_at()
};

}  // namespace

void carry_lanes(Plan& plan) { Parting(plan).visit(plan.entry); }

}  // namespace heddle::cpu
