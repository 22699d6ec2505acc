#include "heddle/codegen/plan/passes/interleave.h"

#include <algorithm>
#include <map>

namespace heddle::cpu {
namespace {

constexpr int64_t kShort = 24;     // operations: shorter turns overlap by themselves
constexpr int64_t kLong = 100;     // a processor looks some 300 ahead
constexpr int64_t kTooMany = 400;  // two of them would be slow to compile
constexpr int64_t kWide = 8;       // operations beside each other, which wait for none of a turn

// How many turns at a time: 1 where a turn is very short or very long, is no chain, or where their
// number is not known or no multiple.
int64_t turns_together(const Plan& plan, const Node& loop) {
  const Node &from = plan.at(plan.args_of(loop)[0]), &to = plan.at(plan.args_of(loop)[1]);
  const Block& body = plan.at(plan.blocks_of(loop)[0]);
  const int64_t length = std::ssize(body.nodes);
  if (from.op != Op::kConstant || to.op != Op::kConstant) return 1;
  if (length < kShort || length > kTooMany) return 1;
  if (longest_chain(plan, body) * kWide < length || !is_straight(plan, body)) return 1;
  const auto divides = [&](int64_t count) { return (to.imm - from.imm) % (count * loop.imm) == 0; };
  // A turn with branches does not become shorter with others beside it. Of 512 bits nothing
  // shorter was tried.
  const bool skips = std::ranges::any_of(
      body.nodes, [&](NodeId id) { return plan.at(id).op == Op::kSelect && plan.at(id).imm == 1; });
  if (length < kLong && (skips || plan.vector_bytes > 32)) return 1;
  return length < kLong && divides(4) ? 4 : divides(2) ? 2 : 1;
}

NodeId add(Plan& plan, const Node& node) {
  plan.nodes.push_back(node);
  return NodeId(plan.nodes.size() - 1);
}

}  // namespace

int64_t longest_chain(const Plan& plan, const Block& block) {
  std::map<NodeId, int64_t> length;
  int64_t longest = 0;
  for (NodeId id : block.nodes) {
    int64_t before = 0;
    for (NodeId arg : plan.args_of(plan.at(id))) {
      const auto found = length.find(arg);
      if (found != length.end()) before = std::max(before, found->second);
    }
    longest = std::max(longest, length[id] = before + 1);
  }
  return longest;
}

bool is_straight(const Plan& plan, const Block& block) {
  return std::ranges::none_of(block.nodes, [&](NodeId id) {
    const Node& node = plan.at(id);
    return node.block_count > 0 || node.op == Op::kKernel || node.op == Op::kMath;
  });
}

void join_turns(Plan& plan, NodeId for_each, int64_t count) {
  const BlockId body = plan.blocks_of(plan.at(for_each))[0];
  const int64_t step = plan.at(for_each).imm;
  plan.nodes[for_each.value].imm = count * step;
  const std::vector<NodeId> nodes = std::move(plan.blocks[body.value].nodes);
  const NodeId index = plan.at(body).parameters[0];
  const Type type = plan.at(index).type;
  std::vector<NodeId> all;
  std::vector<std::map<NodeId, NodeId>> of_turn(static_cast<size_t>(count - 1));
  for (int64_t k = 1; k < count; ++k) {
    const NodeId by = add(plan, {.op = Op::kConstant, .type = type, .imm = k * step});
    const auto first_arg = static_cast<uint32_t>(plan.args.size());
    plan.args.insert(plan.args.end(), {index, by});
    const NodeId next =
        add(plan, {.op = Op::kAdd, .type = type, .first_arg = first_arg, .arg_count = 2});
    of_turn[static_cast<size_t>(k - 1)].emplace(index, next);
    all.insert(all.end(), {by, next});
  }
  for (NodeId old : nodes) {
    all.push_back(old);
    for (std::map<NodeId, NodeId>& now : of_turn) {
      Node copy = plan.at(old);
      const auto first = static_cast<uint32_t>(plan.args.size());
      for (uint32_t i = 0; i < copy.arg_count; ++i) {
        const NodeId arg = plan.args[copy.first_arg + i];
        const auto found = now.find(arg);
        plan.args.push_back(found == now.end() ? arg : found->second);
      }
      copy.first_arg = first;
      all.push_back(add(plan, copy));
      now.emplace(old, all.back());
    }
  }
  plan.blocks[body.value].nodes = std::move(all);
}

void interleave_turns(Plan& plan) {
  const size_t count = plan.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    if (plan.nodes[i].op != Op::kForEach) continue;
    if (const int64_t together = turns_together(plan, plan.nodes[i]); together > 1)
      join_turns(plan, NodeId(i), together);
  }
}

}  // namespace heddle::cpu
