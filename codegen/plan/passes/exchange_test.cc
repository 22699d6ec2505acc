#include "heddle/codegen/plan/passes/exchange.h"

#include <gtest/gtest.h>

#include "heddle/codegen/plan/builder.h"
#include "heddle/codegen/plan/cost.h"
#include "heddle/codegen/plan/passes/share.h"

namespace heddle::cpu {
namespace {

constexpr Type kVector = {Scalar::kF32, 16};
constexpr int64_t kSteps = 1000;

class Exchange : public ::testing::Test {
 protected:
  Exchange() { plan_.vector_bytes = 64; }
  BufferId array(int64_t bytes, BufferInfo::Kind kind = BufferInfo::Kind::kArena) {
    const auto number = static_cast<int64_t>(plan_.buffers.size());
    return b_.buffer(
        {.kind = kind, .bytes = bytes, .index = number, .born = number, .last = number + 1});
  }
  // while t < kSteps { for_each i < width { body(t * width, i) } }
  template <class Body>
  std::vector<NodeId> steps(int64_t width, const Body& body) {
    const NodeId zero[] = {b_.index(0)};
    const NodeId before = b_.begin_while(zero, kSteps).parameters[0];
    const NodeId t =
        b_.begin_body(b_.compare(Predicate::kLt, before, b_.index(kSteps))).parameters[0];
    const NodeId row = b_.mul(t, width);
    body(row, b_.begin_for_each(b_.index(0), b_.index(width), 16).parameters[0]);
    b_.end_for({});
    const NodeId next[] = {b_.add(t, 1)};
    return b_.end_while(next);
  }
  // h = h + .. + h + x[t], y[t] = h
  void sum(NodeId row, NodeId i, int64_t adds, int64_t ahead = 0) {
    NodeId value = b_.load(x_, kVector, b_.add(row, i));
    const NodeId state = b_.load(h_, kVector, b_.add(i, ahead));
    for (int64_t k = 0; k < adds; ++k) value = b_.add(b_.mul(value, value), state);
    b_.store(h_, i, value);
    b_.store(y_, b_.add(row, i), value);
  }
  // The outermost control node, after the pass.
  const Node& outermost(std::vector<std::pair<int64_t, int64_t>> taken = {}) {
    exchange_loops(plan_, taken);
    for (NodeId id : plan_.at(plan_.entry).nodes) {
      if (plan_.at(id).block_count > 0) return plan_.at(id);
    }
    return plan_.nodes[0];
  }
  [[nodiscard]] int64_t accesses(BlockId block, BufferId buffer) const {
    int64_t found = 0;
    for (NodeId id : plan_.at(block).nodes) {
      found += plan_.at(id).buffer == buffer ? 1 : 0;
      for (BlockId inner : plan_.blocks_of(plan_.at(id))) found += accesses(inner, buffer);
    }
    return found;
  }

  Plan plan_;
  PlanBuilder b_{plan_};
  BufferId x_ = array(1 << 20, BufferInfo::Kind::kArgument), h_ = array(4096),
           y_ = array(1 << 20, BufferInfo::Kind::kResult);
};

TEST_F(Exchange, StateIsARegisterInAllSteps) {
  steps(256, [&](NodeId row, NodeId i) { sum(row, i, 40); });
  const Node& each = outermost();
  ASSERT_EQ(each.op, Op::kForEach);
  const Block& turn = plan_.at(plan_.blocks_of(each)[0]);
  EXPECT_EQ(each.imm, 64) << "four turns take their steps side by side";
  EXPECT_EQ(accesses(plan_.blocks_of(each)[0], h_), 8) << "a load before the steps, a store after";
  for (NodeId id : turn.nodes) {
    if (plan_.at(id).op != Op::kWhile) continue;
    EXPECT_EQ(accesses(plan_.blocks_of(plan_.at(id))[1], h_), 0);
    EXPECT_EQ(plan_.at(id).arg_count, 5u) << "the step and the states";
  }
}

TEST_F(Exchange, TurnsOfMuchWorkStandAlone) {
  steps(256, [&](NodeId row, NodeId i) { sum(row, i, 150); });
  const Node& each = outermost();
  ASSERT_EQ(each.op, Op::kForEach);
  EXPECT_EQ(each.imm, 16);
  EXPECT_EQ(accesses(plan_.blocks_of(each)[0], h_), 2);
}

TEST_F(Exchange, AnOddNumberOfTurnsStandsAlone) {
  steps(240, [&](NodeId row, NodeId i) { sum(row, i, 40); });
  EXPECT_EQ(outermost().imm, 16);
}

TEST_F(Exchange, LittleWorkALineIsDoneInPartsOfRows) {
  steps(1024, [&](NodeId row, NodeId i) { sum(row, i, 1); });
  const Node& parts = outermost();
  ASSERT_EQ(parts.op, Op::kParts);
  EXPECT_EQ(parts.imm, 512) << "2 KiB of each row";
  EXPECT_GT(cost_of(plan_).flops.value_or(0), 1024.0 * kSteps) << "turns are still known";
  share_loops(plan_);
  ASSERT_EQ(plan_.shared_loops.size(), 1u);
  EXPECT_EQ(plan_.shared_loops[0].chunk, 512);
}

TEST_F(Exchange, NeighboursOfTheStepBeforeAreWaitedFor) {
  steps(256, [&](NodeId row, NodeId i) { sum(row, i, 40, 1); });
  EXPECT_EQ(outermost().op, Op::kWhile);
}

TEST_F(Exchange, RowsThatOverlapAreWrittenInOrder) {
  steps(256, [&](NodeId row, NodeId i) {
    b_.store(y_, b_.add(b_.add(row, row), i), b_.load(y_, kVector, b_.add(row, i)));
    sum(b_.add(row, 8), i, 40);
  });
  EXPECT_EQ(outermost().op, Op::kWhile);
}

// An argument that gave its memory to the result.
TEST_F(Exchange, StateInTakenMemoryIsFoundThere) {
  steps(256, [&](NodeId row, NodeId i) {
    const NodeId next = b_.load(x_, kVector, b_.add(b_.add(row, i), 256));
    b_.store(y_, b_.add(row, i), next);
    sum(row, i, 40);
  });
  EXPECT_EQ(outermost({{0, 2}}).op, Op::kWhile);
}

TEST_F(Exchange, WhatStepsHandOnStaysOutside) {
  const auto last = steps(256, [&](NodeId row, NodeId i) { sum(row, i, 40); });
  b_.store(h_, b_.index(0), last[0]);
  EXPECT_EQ(outermost().op, Op::kWhile);
}

TEST_F(Exchange, FewStepsOfLittleWorkStay) {
  steps(32, [&](NodeId row, NodeId i) { sum(row, i, 1); });
  EXPECT_EQ(outermost().op, Op::kWhile);
}

}  // namespace
}  // namespace heddle::cpu
