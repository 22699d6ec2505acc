#include "heddle/cpu/lower/folds/folded_together.h"

#include <algorithm>
#include <vector>

namespace heddle::cpu {
namespace {

constexpr int64_t kBlockBytes = 16;  // within which lanes change places for the least

class FoldedTogether {
 public:
  FoldedTogether(PlanBuilder& builder, Op fold, Type type)
      : b_(builder),
        fold_(fold),
        lanes_(type.lanes),
        block_(std::clamp<int64_t>(kBlockBytes / bytes_of(type.scalar), 1, lanes_)) {}

  NodeId run(const std::function<NodeId(int64_t)>& vector_at) {
    // Which vector ends in which lane is seen by letting their numbers take the same way.
    const Tree numbered = tree(0, lanes_, [](int64_t) { return NodeId(); });
    std::vector<int64_t> lane_of(static_cast<size_t>(lanes_));
    for (size_t lane = 0; lane < lane_of.size(); ++lane)
      lane_of[static_cast<size_t>(numbered.vectors[lane])] = static_cast<int64_t>(lane);
    return tree(0, lanes_, [&](int64_t i) { return vector_at(lane_of[static_cast<size_t>(i)]); })
        .node;
  }

 private:
  // By lane: which vector it is of, and which of the parts that are not yet joined.
  struct Tree {
    NodeId node;
    std::vector<int64_t> vectors, parts;
  };

  template <class Leaf>
  Tree tree(int64_t first, int64_t count, const Leaf& leaf) {
    if (count == 1) {
      Tree one{leaf(first), std::vector<int64_t>(static_cast<size_t>(lanes_), first), {}};
      for (int64_t lane = 0; lane < lanes_; ++lane) one.parts.push_back(lane);
      return one;
    }
    const Tree a = tree(first, count / 2, leaf), b = tree(first + count / 2, count / 2, leaf);
    return joined(a, b, lanes_ / count);
  }

  // Part p of each with part p + half.
  Tree joined(const Tree& a, const Tree& b, int64_t half) {
    Tree out;
    std::vector<LaneSource> low, high;
    const int64_t block = half >= block_ ? lanes_ : block_;
    for (int64_t start = 0; start < lanes_; start += block) {
      for (uint32_t operand : {0u, 1u}) {
        const Tree& from = operand == 0 ? a : b;
        for (int64_t lane = start; lane < start + block; ++lane) {
          const auto i = static_cast<size_t>(lane);
          if (from.parts[i] >= half) continue;
          out.vectors.push_back(from.vectors[i]);
          out.parts.push_back(from.parts[i]);
          low.push_back({operand, static_cast<uint32_t>(lane)});
          for (size_t other = 0; other < from.parts.size(); ++other) {
            if (from.vectors[other] == from.vectors[i] && from.parts[other] == from.parts[i] + half)
              high.push_back({operand, static_cast<uint32_t>(other)});
          }
        }
      }
    }
    if (a.node.valid()) {
      const NodeId both[] = {a.node, b.node};
      out.node = b_.binary(fold_, b_.shuffle(both, low), b_.shuffle(both, high));
    }
    return out;
  }

  PlanBuilder& b_;
  Op fold_;
  int64_t lanes_;
  int64_t block_;  // lanes
};

}  // namespace

NodeId fold_together(PlanBuilder& builder, Op fold, Type type,
                     const std::function<NodeId(int64_t)>& vector_at) {
  return FoldedTogether(builder, fold, type).run(vector_at);
}

}  // namespace heddle::cpu
