#include "heddle/codegen/plan/passes/lanes.h"

#include <gtest/gtest.h>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr Type kVector = {Scalar::kF32, 4};

class Lanes : public ::testing::Test {
 protected:
  // while t < 9 { v = next(v) }, stored at last. returns: the loop
  template <class Next>
  const Node& loop(const Next& next) {
    const NodeId initial[] = {b_.index(0), b_.load(x_, kVector, b_.index(0))};
    const NodeId before = b_.begin_while(initial, 9).parameters[0];
    const auto body = b_.begin_body(b_.compare(Predicate::kLt, before, b_.index(9))).parameters;
    const NodeId yields[] = {b_.add(body[0], 1), next(body[1])};
    b_.store(x_, b_.index(0), b_.end_while(yields)[1]);
    carry_lanes(plan_);
    for (NodeId id : plan_.at(plan_.entry).nodes) {
      if (plan_.at(id).op == Op::kWhile) return plan_.at(id);
    }
    return plan_.nodes[0];
  }
  // (v[1] * v[0], v[3] + v[0], v[2], 7)
  NodeId mixed(NodeId v) {
    const NodeId all[] = {b_.mul(b_.extract(v, 1), b_.extract(v, 0)),
                          b_.add(b_.extract(v, 3), b_.extract(v, 0)), b_.extract(v, 2),
                          b_.number({Scalar::kF32, 1}, 7)};
    return b_.shuffle(all, {{0, 0}, {1, 0}, {2, 0}, {3, 0}});
  }

  Plan plan_;
  PlanBuilder b_{plan_};
  BufferId x_ = b_.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 64});
};

TEST_F(Lanes, ScalarsOfATurnAreCarriedAsSuch) {
  const Node& loop = this->loop([&](NodeId v) { return mixed(v); });
  EXPECT_EQ(loop.arg_count, 5u) << "the turn and four scalars";
  const Block& body = plan_.at(plan_.blocks_of(loop)[1]);
  ASSERT_EQ(body.yields.size(), 5u);
  EXPECT_EQ(body.yields[3], body.parameters[3]) << "v[2] stays";
  for (NodeId id : body.nodes) EXPECT_NE(plan_.at(id).op, Op::kExtract);
  const Node& stored = plan_.at(plan_.at(plan_.entry).nodes.back());
  EXPECT_EQ(plan_.at(plan_.args_of(stored)[1]).op, Op::kShuffle);
}

TEST_F(Lanes, AVectorThatATurnComputesWithStays) {
  EXPECT_EQ(loop([&](NodeId v) { return mixed(b_.mul(v, v)); }).arg_count, 2u);
}

TEST_F(Lanes, AVectorThatATurnComputesStays) {
  EXPECT_EQ(loop([&](NodeId v) {
              const NodeId all = b_.splat(b_.extract(v, 0), 4);
              return b_.add(all, mixed(v));
            }).arg_count,
            2u);
}

TEST_F(Lanes, TheConditionReadsTheScalarsToo) {
  const NodeId initial[] = {b_.load(x_, kVector, b_.index(0))};
  const NodeId before = b_.begin_while(initial).parameters[0];
  const NodeId goes_on =
      b_.compare(Predicate::kLt, b_.extract(before, 2), b_.number({Scalar::kF32, 1}, 9));
  const NodeId yields[] = {mixed(b_.begin_body(goes_on).parameters[0])};
  b_.store(x_, b_.index(0), b_.end_while(yields)[0]);
  carry_lanes(plan_);
  for (const Node& node : plan_.nodes) {
    if (node.op != Op::kWhile) continue;
    const Block& condition = plan_.at(plan_.blocks_of(node)[0]);
    EXPECT_EQ(plan_.args_of(plan_.at(condition.yields[0]))[0], condition.parameters[2]);
  }
}

// In a loop inside of the turn.
TEST_F(Lanes, AVectorThatIsUsedDeeperStays) {
  EXPECT_EQ(loop([&](NodeId v) {
              const NodeId i = b_.begin_for_each(b_.index(0), b_.index(3), 1).parameters[0];
              b_.store(x_, i, b_.add(b_.load(x_, {Scalar::kF32, 1}, i), b_.extract(v, 0)));
              b_.store(x_, i, b_.mul(v, v));
              b_.end_for({});
              return mixed(v);
            }).arg_count,
            2u);
}

}  // namespace
}  // namespace heddle::cpu
