#include "heddle/codegen/plan/passes/indices.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr size_t kMostTerms = 4;
constexpr int kDeepest = 12;

using Terms = std::map<NodeId, int64_t>;  // nodes, each times a number

struct IndexSum {
  Terms terms;
  int64_t constant = 0;
};

class Sharing {
 public:
  explicit Sharing(Plan& plan) : plan_(plan) {}

  void run() {
    for (const Block& block : plan_.blocks) {
      for (NodeId id : block.nodes) {
        for (NodeId arg : plan_.args_of(plan_.at(id))) ++uses_[arg];
      }
      for (NodeId id : block.yields) ++uses_[id];
    }
    for (size_t i = 0; i < plan_.blocks.size(); ++i) {
      inside_ = {plan_.blocks[i].nodes.begin(), plan_.blocks[i].nodes.end()};
      const std::set<Terms> sums = scattered_sums(i);
      if (!sums.empty()) rewrite(i, sums);
    }
  }

 private:
  [[nodiscard]] static bool is_access(const Node& node) {
    return node.op == Op::kLoad || node.op == Op::kStore;
  }

  // The sums that indices of the block have in common and compute apart from each other.
  [[nodiscard]] std::set<Terms> scattered_sums(size_t block) const {
    std::map<Terms, NodeId> bases;
    std::set<Terms> scattered;
    for (NodeId id : plan_.blocks[block].nodes) {
      const Node& node = plan_.at(id);
      if (!is_access(node)) continue;
      const NodeId index = plan_.args_of(node)[0];
      const std::optional<IndexSum> sum = sum_of(index, 0);
      if (!sum || sum->terms.empty()) continue;
      const NodeId base = base_of(index);
      if (bases.emplace(sum->terms, base).first->second != base) scattered.insert(sum->terms);
    }
    return scattered;
  }

  // Without the constant that is added last.
  [[nodiscard]] NodeId base_of(NodeId index) const {
    const Node& node = plan_.at(index);
    if (node.op != Op::kAdd || !inside_.contains(index)) return index;
    const auto args = plan_.args_of(node);
    return plan_.at(args[1]).op == Op::kConstant ? args[0] : index;
  }

  [[nodiscard]] std::optional<IndexSum> sum_of(NodeId id, int depth) const {
    const Node& node = plan_.at(id);
    if (node.op == Op::kConstant) return IndexSum{.terms = {}, .constant = node.imm};
    const bool is_sum = (node.op == Op::kAdd || node.op == Op::kMul) && node.type == kIndex;
    if (!is_sum || !inside_.contains(id) || depth > kDeepest) return IndexSum{{{id, 1}}, 0};
    const auto args = plan_.args_of(node);
    std::optional<IndexSum> a = sum_of(args[0], depth + 1);
    const std::optional<IndexSum> b = sum_of(args[1], depth + 1);
    if (!a || !b) return std::nullopt;
    if (node.op == Op::kMul) {
      if (!b->terms.empty()) return IndexSum{{{id, 1}}, 0};
      for (auto& [term, by] : a->terms) by *= b->constant;
      a->constant *= b->constant;
    } else {
      for (const auto& [term, by] : b->terms) a->terms[term] += by;
      a->constant += b->constant;
    }
    if (a->terms.size() > kMostTerms) return std::nullopt;
    return a;
  }

  void rewrite(size_t block, const std::set<Terms>& sums) {
    const std::vector<NodeId> before = std::move(plan_.blocks[block].nodes);
    nodes_.clear();
    std::map<Terms, NodeId> bases;
    for (NodeId id : before) {
      const Node node = plan_.at(id);
      const std::optional<IndexSum> sum =
          is_access(node) ? sum_of(plan_.args_of(node)[0], 0) : std::nullopt;
      if (sum && sums.contains(sum->terms)) {
        NodeId& base = bases[sum->terms];
        if (!base.valid()) base = total(sum->terms);
        const NodeId index = sum->constant == 0 ? base : add(Op::kAdd, base, number(sum->constant));
        --uses_[plan_.args[node.first_arg]];
        ++uses_[plan_.args[node.first_arg] = index];
      }
      nodes_.push_back(id);
    }
    plan_.blocks[block].nodes = used(nodes_);
  }

  NodeId add(Op op, NodeId x, NodeId y) {
    const NodeId both[] = {x, y};
    nodes_.push_back(plan_.add({.op = op, .type = kIndex}, both));
    ++uses_[x], ++uses_[y];
    return nodes_.back();
  }
  NodeId number(int64_t value) {
    nodes_.push_back(plan_.add({.op = Op::kConstant, .type = kIndex, .imm = value}, {}));
    return nodes_.back();
  }
  NodeId total(const Terms& terms) {
    NodeId sum;
    for (const auto& [term, by] : terms) {
      const NodeId product = by == 1 ? term : add(Op::kMul, term, number(by));
      sum = sum.valid() ? add(Op::kAdd, sum, product) : product;
    }
    return sum;
  }

  // Without the arithmetic that nothing uses any more.
  std::vector<NodeId> used(std::vector<NodeId> nodes) {
    std::ranges::reverse(nodes);
    std::erase_if(nodes, [&](NodeId id) {
      const Node& node = plan_.at(id);
      const bool is_arithmetic =
          node.op == Op::kAdd || node.op == Op::kMul || node.op == Op::kConstant;
      if (!is_arithmetic || node.type != kIndex || uses_[id] > 0) return false;
      for (NodeId arg : plan_.args_of(node)) --uses_[arg];
      return true;
    });
    std::ranges::reverse(nodes);
    return nodes;
  }

  Plan& plan_;
  std::map<NodeId, int64_t> uses_;
  std::unordered_set<NodeId> inside_;  // the nodes of the block
  std::vector<NodeId> nodes_;          // of the block that is written
};

}  // namespace

void share_indices(Plan& plan) { Sharing(plan).run(); }

}  // namespace heddle::cpu
