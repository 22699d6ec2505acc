#include "heddle/codegen/plan/passes/columns.h"

#include <gtest/gtest.h>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr Type kVector = {Scalar::kF32, 2};

class Columns : public ::testing::Test {
 protected:
  // while t < 100 { h[r] = h[r] * a[r] + x[t + r]; y[t] = (sum of h[0], sum of h[1]) }
  template <class Extra>
  void loop(const Extra& extra) {
    const NodeId initial[] = {b_.index(0), b_.load(h_, kVector, b_.index(0)),
                              b_.load(h_, kVector, b_.index(2))};
    const NodeId before = b_.begin_while(initial, 100).parameters[0];
    const auto body = b_.begin_body(b_.compare(Predicate::kLt, before, b_.index(100))).parameters;
    std::vector<NodeId> next = {b_.add(body[0], 1)};
    const PlanBuilder::Ordered ordered(b_);
    for (int64_t r = 0; r < 2; ++r) {
      const NodeId number = b_.load(x_, {Scalar::kF32, 1}, b_.add(body[0], r));
      const NodeId product =
          b_.mul(body[static_cast<size_t>(r) + 1], b_.load(a_, kVector, b_.index(2 * r)));
      next.push_back(b_.add(product, b_.splat(number, 2)));
    }
    const NodeId rows[] = {next[1], next[2]};
    const NodeId sums =
        b_.add(b_.shuffle(rows, {{0, 0}, {1, 0}}), b_.shuffle(rows, {{0, 1}, {1, 1}}));
    b_.store(y_, b_.mul(body[0], 2), sums);
    extra(body);
    const std::vector<NodeId> last = b_.end_while(next);
    b_.store(h_, b_.index(0), last[1]);
    b_.store(h_, b_.index(2), last[2]);
    carry_columns(plan_);
  }
  [[nodiscard]] int64_t shuffles(BlockId block) const {
    return std::ranges::count_if(plan_.at(block).nodes,
                                 [&](NodeId id) { return plan_.at(id).op == Op::kShuffle; });
  }
  [[nodiscard]] int64_t shuffles_of_a_turn() const {
    for (NodeId id : plan_.at(plan_.entry).nodes) {
      if (plan_.at(id).op == Op::kWhile) return shuffles(plan_.blocks_of(plan_.at(id))[1]);
    }
    return -1;
  }
  BufferId array() {
    return b_.buffer({.kind = BufferInfo::Kind::kArgument,
                      .bytes = 1024,
                      .index = static_cast<int64_t>(plan_.buffers.size())});
  }

  Plan plan_;
  PlanBuilder b_{plan_};
  BufferId h_ = array(), a_ = array(), x_ = array(), y_ = array();
};

TEST_F(Columns, ATurnShufflesNothing) {
  loop([](const std::vector<NodeId>&) {});
  EXPECT_EQ(shuffles_of_a_turn(), 0);
  EXPECT_EQ(shuffles(plan_.entry), 6) << "of h and a before, of h after";
}

TEST_F(Columns, RowsThatATurnUsesAsRowsStay) {
  loop([&](const std::vector<NodeId>& body) { b_.store(y_, b_.index(100), body[1]); });
  EXPECT_EQ(shuffles_of_a_turn(), 2);
}

TEST_F(Columns, RowsThatATurnWritesAreReadInEachTurn) {
  loop([&](const std::vector<NodeId>&) {
    b_.store(a_, b_.index(0), b_.load(y_, kVector, b_.index(0)));
  });
  EXPECT_EQ(shuffles_of_a_turn(), 2);
}

}  // namespace
}  // namespace heddle::cpu
