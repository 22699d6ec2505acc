#include "heddle/codegen/plan/passes/stacks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr Type kScalar = {Scalar::kF32, 1};
constexpr int kTurns = 100;

class Stacks : public ::testing::Test {
 protected:
  Stacks() { plan_.vector_bytes = 64; }

  std::vector<BufferId> arrays(int count) {
    std::vector<BufferId> arrays;
    for (int i = 0; i < count; ++i)
      arrays.push_back(b_.buffer({.bytes = 4 * kTurns, .born = i, .last = 50}));
    return arrays;
  }
  NodeId begin_loop() { return b_.begin_for_each(b_.index(0), b_.index(kTurns), 1).parameters[0]; }
  // All lanes of one vector, each into its array.
  void store_lanes(const std::vector<BufferId>& arrays, NodeId at) {
    const NodeId vector =
        b_.splat(b_.load(source_, kScalar, at), static_cast<int32_t>(arrays.size()));
    for (size_t i = 0; i < arrays.size(); ++i)
      b_.store(arrays[i], at, b_.extract(vector, static_cast<int64_t>(i)));
  }
  // The sum of one element of each array, at each turn.
  void store_sums(const std::vector<BufferId>& arrays) {
    const NodeId at = begin_loop();
    NodeId sum = b_.load(arrays[0], kScalar, at);
    for (size_t i = 1; i < arrays.size(); ++i) sum = b_.add(sum, b_.load(arrays[i], kScalar, at));
    b_.store(result_, at, sum);
    b_.end_for({});
  }
  [[nodiscard]] int64_t count(Op op, int32_t lanes) const { return count(plan_.entry, op, lanes); }
  [[nodiscard]] int64_t count(BlockId block, Op op, int32_t lanes) const {
    int64_t found = 0;
    for (NodeId id : plan_.at(block).nodes) {
      const Node& node = plan_.at(id);
      found += node.op == op && node.type.lanes == lanes ? 1 : 0;
      for (BlockId inner : plan_.blocks_of(node)) found += count(inner, op, lanes);
    }
    return found;
  }

  Plan plan_;
  PlanBuilder b_{plan_};
  BufferId source_ = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 4 * kTurns});
  BufferId result_ = b_.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 4 * kTurns});
};

TEST_F(Stacks, ATurnStoresAndLoadsVectors) {
  const std::vector<BufferId> a = arrays(20);
  store_lanes(a, begin_loop());
  b_.end_for({});
  store_sums(a);
  join_stacks(plan_);
  EXPECT_EQ(count(Op::kStore, 16), 1);
  EXPECT_EQ(count(Op::kStore, 4), 1);
  EXPECT_EQ(count(Op::kStore, 1), 1) << "the result";
  EXPECT_EQ(count(Op::kLoad, 16), 1);
  EXPECT_EQ(count(Op::kLoad, 4), 1);
  EXPECT_EQ(plan_.buffers[a[0].value].bytes, 20 * 4 * kTurns);
  EXPECT_EQ(plan_.buffers[a[0].value].born, 0);
  EXPECT_EQ(plan_.buffers[a[7].value].bytes, 0);
}

TEST_F(Stacks, ArraysThatAreReadOtherwiseStayApart) {
  const std::vector<BufferId> a = arrays(8);
  store_lanes(a, begin_loop());
  b_.end_for({});
  // Three in vectors, two at another index: too few of each are left.
  for (int i = 0; i < 3; ++i)
    b_.store(result_, b_.index(0), b_.load(a[i], {Scalar::kF32, 16}, b_.index(0)));
  for (int i = 3; i < 5; ++i) b_.store(result_, b_.index(0), b_.load(a[i], kScalar, b_.index(9)));
  join_stacks(plan_);
  EXPECT_EQ(count(Op::kStore, 1), 8 + 2);
  EXPECT_EQ(plan_.buffers[a[0].value].bytes, 4 * kTurns);
}

// An unrolled loop writes an array at several indices of one block.
TEST_F(Stacks, ARowHasOneElementOfEachArrayThatIsWrittenSeveralTimes) {
  const std::vector<BufferId> a = arrays(4);
  const NodeId x = b_.load(source_, kScalar, b_.index(0));
  for (int turn = 0; turn < 3; ++turn) {
    for (BufferId array : a) b_.store(array, b_.index(turn), x);
  }
  store_sums(a);
  join_stacks(plan_);
  std::vector<int64_t> rows;
  for (const Node& node : plan_.nodes) {
    if (node.op == Op::kMul) rows.push_back(plan_.at(plan_.args_of(node)[1]).imm);
  }
  EXPECT_EQ(rows, std::vector<int64_t>(4, 4)) << "three places that write, one that reads";
}

TEST_F(Stacks, AReadBetweenTheWritesSeesItsElement) {
  const std::vector<BufferId> a = arrays(4);
  const NodeId at = begin_loop();
  const NodeId x = b_.load(source_, kScalar, at);
  for (size_t i = 0; i < a.size(); ++i) {
    b_.store(a[i], at, x);
    // Between the writes of the other arrays.
    b_.store(result_, at, b_.load(a[i], kScalar, b_.add(at, 3)));
  }
  b_.end_for({});
  join_stacks(plan_);
  EXPECT_EQ(plan_.buffers[a[0].value].bytes, 4 * 4 * kTurns) << "side by side";
  EXPECT_EQ(count(Op::kStore, 1), 8) << "one by one";
  EXPECT_EQ(count(Op::kLoad, 1), 5);
}

}  // namespace
}  // namespace heddle::cpu
