#include "heddle/codegen/plan/passes/share.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr Type kF32x16 = {Scalar::kF32, 16};

class Share : public ::testing::Test {
 protected:
  BufferId array() { return b_.buffer({.bytes = 1 << 20}); }
  NodeId begin(int64_t turns) {
    return b_.begin_for_each(b_.index(0), b_.index(turns), 1).parameters[0];
  }
  void end() { b_.end_for({}); }
  // One turn's work: some 2 ns.
  void store_square(BufferId to, NodeId at) {
    const NodeId x = b_.load(to, kF32x16, at);
    b_.store(to, at, b_.mul(x, x));
  }
  // The chunk of each for_each, in the order of their ends; 0: one thread runs it.
  std::vector<int64_t> chunks() {
    share_loops(plan_);
    std::vector<int64_t> found;
    for (const Node& node : plan_.nodes) {
      if (node.op != Op::kForEach) continue;
      found.push_back(node.shared.valid() ? plan_.shared_loops[node.shared.value].chunk : 0);
    }
    return found;
  }

  Plan plan_;
  PlanBuilder b_{plan_};
};

TEST_F(Share, LoopsOfLittleWorkStayWithOneThread) {
  store_square(array(), begin(1000));
  end();
  EXPECT_EQ(chunks(), std::vector<int64_t>{0});
}

TEST_F(Share, AChunkIsWorthAThread) {
  store_square(array(), begin(100'000));
  end();
  const int64_t chunk = chunks()[0];
  EXPECT_GT(chunk, 1000);
  EXPECT_LT(chunk, 50'000);
}

TEST_F(Share, AChunkIsAMultipleOfTheStep) {
  const NodeId at = b_.begin_for_each(b_.index(0), b_.index(1'600'000), 16).parameters[0];
  store_square(array(), at);
  end();
  const int64_t chunk = chunks()[0];
  EXPECT_GT(chunk, 0);
  EXPECT_EQ(chunk % 16, 0);
}

TEST_F(Share, TheOutermostLoopIsShared) {
  const NodeId row = begin(1000);
  store_square(array(), b_.add(b_.mul(row, 1000), begin(100'000)));
  end();
  end();
  const std::vector<int64_t> inner_first = chunks();
  EXPECT_EQ(inner_first[0], 0);
  EXPECT_GT(inner_first[1], 0);
}

TEST_F(Share, WhereItHasFewTurnsTheInnerOneIs) {
  const NodeId row = begin(3);
  store_square(array(), b_.add(b_.mul(row, 1000), begin(100'000)));
  end();
  end();
  const std::vector<int64_t> inner_first = chunks();
  EXPECT_GT(inner_first[0], 0);
  EXPECT_EQ(inner_first[1], 0);
}

TEST_F(Share, WhatHandsValuesOnIsNotShared) {
  const NodeId zero[] = {b_.index(0)};
  const auto loop = b_.begin_for(b_.index(0), b_.index(1'000'000), 1, zero);
  const NodeId sum[] = {b_.add(loop.parameters[0], loop.parameters[1])};
  b_.store(array(), b_.index(0), b_.end_for(sum)[0]);
  share_loops(plan_);
  EXPECT_TRUE(plan_.shared_loops.empty());
}

TEST_F(Share, LoopsThatCallKernelsAreNotShared) {
  const BufferId to = array();
  store_square(to, begin(1'000'000));
  b_.kernel({to});
  end();
  EXPECT_EQ(chunks(), std::vector<int64_t>{0});
}

TEST_F(Share, NotesWhatComesFromOutside) {
  const BufferId from = array(), to = array(), other = array();
  const NodeId factor = b_.load(from, {Scalar::kF32, 1}, b_.index(0));
  b_.store(other, b_.index(0), factor);
  const NodeId at = begin(100'000);
  NodeId x;
  {
    const PlanBuilder::Floor floor(b_);
    x = b_.load(from, kF32x16, at);
  }
  b_.store(to, at, b_.mul(x, factor));
  end();
  share_loops(plan_);
  ASSERT_EQ(plan_.shared_loops.size(), 1u);
  const SharedLoop& shared = plan_.shared_loops[0];
  EXPECT_EQ(shared.buffers, (std::vector<BufferId>{from, to}));
  const auto splat = std::ranges::find_if(shared.captured,
                                          [&](NodeId id) { return plan_.at(id).op == Op::kSplat; });
  ASSERT_NE(splat, shared.captured.end());
  EXPECT_EQ(plan_.args_of(plan_.at(*splat))[0], factor);
  EXPECT_EQ(std::ranges::count(shared.captured, at), 0);
}

}  // namespace
}  // namespace heddle::cpu
