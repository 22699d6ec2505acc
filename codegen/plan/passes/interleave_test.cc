#include "heddle/codegen/plan/passes/interleave.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr Type kWide = {Scalar::kF32, 16};

// for_each i: y[i] = a chain of multiplications of x[i].
Plan chain(int operations, int64_t turns, int64_t vector_bytes = 32, bool skips = false) {
  Plan plan;
  plan.vector_bytes = vector_bytes;
  PlanBuilder b(plan);
  const BufferId from = b.buffer({.bytes = 1 << 20}), to = b.buffer({.bytes = 1 << 20});
  const NodeId at = b.begin_for_each(b.index(0), b.index(16 * turns), 16).parameters[0];
  const NodeId x = b.load(from, kWide, at);
  NodeId y = x;
  for (int i = 0; i < operations; ++i) y = b.mul(y, x);
  if (skips) y = b.choose(b.compare(Predicate::kGt, x, b.number(kWide, 1)), y, x);
  b.store(to, at, y);
  b.end_for({});
  interleave_turns(plan);
  return plan;
}

const Node& loop_of(const Plan& plan) {
  return *std::ranges::find(plan.nodes, Op::kForEach, &Node::op);
}

int64_t count(const Plan& plan, Op op) {
  const Block& body = plan.at(plan.blocks_of(loop_of(plan))[0]);
  return std::ranges::count_if(body.nodes, [&](NodeId id) { return plan.at(id).op == op; });
}

TEST(Interleave, ALongTurnIsDoneWithTheNextOne) {
  const Plan plan = chain(150, 10);
  EXPECT_EQ(loop_of(plan).imm, 32);
  EXPECT_EQ(count(plan, Op::kMul), 300);
  EXPECT_EQ(count(plan, Op::kLoad), 2);
  EXPECT_EQ(count(plan, Op::kStore), 2);
}

// A turn of many short chains needs no other turn beside it.
TEST(Interleave, AWideTurnStaysAlone) {
  Plan plan;
  PlanBuilder b(plan);
  const BufferId from = b.buffer({.bytes = 1 << 20}), to = b.buffer({.bytes = 1 << 20});
  const NodeId at = b.begin_for_each(b.index(0), b.index(32 * 256), 256).parameters[0];
  for (int i = 0; i < 16; ++i) {
    const NodeId x = b.load(from, kWide, b.add(at, 16 * i));
    b.store(to, b.add(at, 16 * i), b.mul(b.mul(b.mul(b.mul(x, x), x), x), x));
  }
  b.end_for({});
  interleave_turns(plan);
  EXPECT_EQ(loop_of(plan).imm, 256);
}

// Each copy reads what the copies before it gave.
TEST(Interleave, TheTwoTurnsAreApart) {
  const Plan plan = chain(150, 10);
  const Block& body = plan.at(plan.blocks_of(loop_of(plan))[0]);
  std::vector<NodeId> of_first = {body.parameters[0]}, of_second;
  for (NodeId id : body.nodes) {
    const Node& node = plan.at(id);
    if (node.op == Op::kConstant) continue;
    const bool is_next = node.op == Op::kAdd;  // the index of the second turn
    const bool is_second = is_next || std::ranges::any_of(plan.args_of(node), [&](NodeId arg) {
                             return std::ranges::count(of_second, arg) > 0;
                           });
    for (NodeId arg : plan.args_of(node)) {
      if (!is_next && is_second) {
        EXPECT_EQ(std::ranges::count(of_first, arg), 0);
      }
    }
    (is_second ? of_second : of_first).push_back(id);
  }
  EXPECT_EQ(of_first.size(), of_second.size());
}

TEST(Interleave, AShorterTurnIsDoneWithThreeMore) {
  const Plan plan = chain(50, 12);
  EXPECT_EQ(loop_of(plan).imm, 64);
  EXPECT_EQ(count(plan, Op::kMul), 200);
  EXPECT_EQ(loop_of(chain(50, 10)).imm, 32) << "no multiple of four";
  EXPECT_EQ(loop_of(chain(50, 12, 64)).imm, 16) << "nobody measured it";
  EXPECT_EQ(loop_of(chain(50, 12, 32, /*skips=*/true)).imm, 16) << "it has a branch";
}

TEST(Interleave, ShortTurnsAndOddNumbersOfThemStay) {
  EXPECT_EQ(loop_of(chain(20, 10)).imm, 16);
  EXPECT_EQ(loop_of(chain(150, 11)).imm, 16);
  EXPECT_EQ(loop_of(chain(5000, 10)).imm, 16);
}

}  // namespace
}  // namespace heddle::cpu
