#include "heddle/codegen/plan/passes/apart.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr Type kOne = {Scalar::kF32, 1}, kVector = {Scalar::kF32, 4};

class Apart : public ::testing::Test {
 protected:
  // while t < 9 { v = next(v) }, stored at last. returns: the loop's body
  template <class Next>
  const Block& loop(const Next& next) {
    const NodeId initial[] = {b_.index(0), b_.load(x_, kVector, b_.index(0))};
    const NodeId before = b_.begin_while(initial, 9).parameters[0];
    const auto body = b_.begin_body(b_.compare(Predicate::kLt, before, b_.index(9))).parameters;
    const NodeId yields[] = {b_.add(body[0], 1), next(body[1])};
    b_.store(x_, b_.index(0), b_.end_while(yields)[1]);
    part_vectors(plan_);
    for (NodeId id : plan_.at(plan_.entry).nodes) {
      const Node& node = plan_.at(id);
      if (node.op == Op::kWhile) return plan_.at(plan_.blocks_of(node)[1]);
    }
    return plan_.at(plan_.entry);
  }
  size_t count(const Block& body, Op op, int32_t lanes) {
    return static_cast<size_t>(std::ranges::count_if(body.nodes, [&](NodeId id) {
      return plan_.at(id).op == op && plan_.at(id).type.lanes == lanes;
    }));
  }
  // 1 / (1 / .. x)
  NodeId slow(NodeId x) {
    for (int i = 0; i < 5; ++i) x = b_.binary(Op::kDiv, b_.number(kOne, 1), x);
    return x;
  }
  // (v[1], slow(v[0]), v[3], v[2]): a Runge and Kutta step's slope.
  NodeId slope(NodeId v) {
    const NodeId all[] = {b_.extract(v, 1), slow(b_.extract(v, 0)), b_.extract(v, 3),
                          b_.extract(v, 2)};
    return b_.shuffle(all, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  }

  Plan plan_;
  PlanBuilder b_{plan_};
  BufferId x_ = b_.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 64});
};

TEST_F(Apart, StagesWhoseLanesWaitForEachOtherAreScalars) {
  const Block& body = loop([&](NodeId v) {
    const NodeId half = b_.number(kVector, 0.5);
    const NodeId middle = b_.add(v, b_.mul(slope(v), half));
    return b_.add(v, b_.mul(slope(middle), half));
  });
  EXPECT_EQ(count(body, Op::kAdd, 4) + count(body, Op::kMul, 4), 0u);
  EXPECT_EQ(count(body, Op::kMul, 1), 8u);
  EXPECT_EQ(plan_.at(body.yields[1]).op, Op::kShuffle) << "the carried vector is put together";
}

TEST_F(Apart, VectorsWhoseLanesComeTogetherStay) {
  const Block& body = loop([&](NodeId v) { return b_.mul(b_.add(v, v), v); });
  EXPECT_EQ(count(body, Op::kMul, 4), 1u);
}

TEST_F(Apart, AFoldOfLanesIsMadeOfHalves) {
  const Block& body = loop([&](NodeId v) {
    const NodeId middle = b_.add(v, slope(v));
    const NodeId sum = b_.reduce_lanes(Op::kAdd, b_.mul(middle, middle));
    return b_.add(slope(middle), b_.splat(sum, 4));
  });
  EXPECT_EQ(count(body, Op::kReduceLanes, 1), 0u);
}

TEST_F(Apart, ABranchThatNeedsTheVectorHasIt) {
  const Block& body = loop([&](NodeId v) {
    const NodeId middle = b_.add(v, slope(v));
    const Type results[] = {kOne};
    b_.begin_switch(b_.index(0), results);
    for (Op fold : {Op::kMin, Op::kMax}) {
      b_.begin_branch();
      const NodeId yield[] = {b_.reduce_lanes(fold, middle)};
      b_.end_branch(yield);
    }
    return b_.add(slope(middle), b_.splat(b_.end_switch()[0], 4));
  });
  for (NodeId id : body.nodes) {
    for (BlockId branch : plan_.blocks_of(plan_.at(id))) {
      const Node& fold = plan_.at(plan_.at(branch).nodes[0]);
      EXPECT_EQ(plan_.at(plan_.args_of(fold)[0]).type.lanes, 4);
    }
  }
}

}  // namespace
}  // namespace heddle::cpu
