#include "heddle/cpu/plan/passes/interleave.h"

#include <algorithm>
#include <map>

namespace heddle::cpu {
namespace {

constexpr size_t kLong = 100;     // operations: a processor looks some 300 ahead
constexpr size_t kTooManyNodes = 400;  // two of them would be slow to compile
constexpr size_t kWide = 8;       // operations beside each other, which wait for none of a turn

class Interleaving {
 public:
  explicit Interleaving(Plan& plan) : plan_(plan) {}

  void run() {
    const size_t count = plan_.nodes.size();
    for (size_t i = 0; i < count; ++i) {
      if (plan_.nodes[i].op == Op::kForEach && is_eligible(plan_.nodes[i])) double_turns(NodeId(i));
    }
  }

 private:
  [[nodiscard]] bool is_eligible(const Node& loop) const {
    const Node &from = plan_.at(plan_.args_of(loop)[0]), &to = plan_.at(plan_.args_of(loop)[1]);
    const Block& body = plan_.at(plan_.blocks_of(loop)[0]);
    if (from.op != Op::kConstant || to.op != Op::kConstant) return false;
    if ((to.imm - from.imm) % (2 * loop.imm) != 0) return false;
    if (body.nodes.size() < kLong || body.nodes.size() > kTooManyNodes) return false;
    if (longest_chain(body) * kWide < body.nodes.size()) return false;
    return std::ranges::none_of(body.nodes, [&](NodeId id) {
      const Node& node = plan_.at(id);
      return node.block_count > 0 || node.op == Op::kKernel || node.op == Op::kMath;
    });
  }

  // Of operations that each need the one before.
  [[nodiscard]] size_t longest_chain(const Block& body) const {
    std::map<NodeId, size_t> length;
    size_t longest = 0;
    for (NodeId id : body.nodes) {
      size_t before = 0;
      for (NodeId arg : plan_.args_of(plan_.at(id))) {
        const auto found = length.find(arg);
        if (found != length.end()) before = std::max(before, found->second);
      }
      longest = std::max(longest, length[id] = before + 1);
    }
    return longest;
  }

  NodeId add(const Node& node) {
    plan_.nodes.push_back(node);
    return NodeId(plan_.nodes.size() - 1);
  }

  void double_turns(NodeId id) {
    const BlockId body = plan_.blocks_of(plan_.at(id))[0];
    const int64_t step = plan_.at(id).imm;
    plan_.nodes[id.value].imm = 2 * step;
    const std::vector<NodeId> nodes = std::move(plan_.blocks[body.value].nodes);
    const NodeId index = plan_.at(body).parameters[0];
    const Type type = plan_.at(index).type;
    const NodeId by = add({.op = Op::kConstant, .type = type, .imm = step});
    const auto first_arg = static_cast<uint32_t>(plan_.args.size());
    plan_.args.insert(plan_.args.end(), {index, by});
    const NodeId next = add({.op = Op::kAdd, .type = type, .first_arg = first_arg, .arg_count = 2});
    std::map<NodeId, NodeId> of_next = {{index, next}};
    std::vector<NodeId> both = {by, next};
    for (NodeId old : nodes) {
      Node copy = plan_.at(old);
      const auto first = static_cast<uint32_t>(plan_.args.size());
      for (uint32_t i = 0; i < copy.arg_count; ++i) {
        const NodeId arg = plan_.args[copy.first_arg + i];
        const auto found = of_next.find(arg);
        plan_.args.push_back(found == of_next.end() ? arg : found->second);
      }
      copy.first_arg = first;
      both.push_back(old);
      both.push_back(add(copy));
      of_next.emplace(old, both.back());
    }
    plan_.blocks[body.value].nodes = std::move(both);
  }

  Plan& plan_;
};

}  // namespace

void interleave_turns(Plan& plan) { Interleaving(plan).run(); }

}  // namespace heddle::cpu
