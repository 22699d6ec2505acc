#include "heddle/codegen/plan/passes/indices.h"

#include <gtest/gtest.h>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

TEST(ShareIndices, OneNumberAndConstants) {
  Plan plan;
  PlanBuilder b{plan};
  const BufferId x = b.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 1 << 16});
  const BufferId y = b.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 1 << 16});
  const NodeId i = b.begin_for_each(b.index(0), b.index(100), 3).parameters[0];
  for (int64_t k = 0; k < 3; ++k) {
    const NodeId row = b.mul(b.add(i, k), 16);
    b.store(y, row, b.load(x, {Scalar::kF32, 16}, row));
  }
  b.end_for({});
  share_indices(plan);
  int64_t products = 0;
  std::vector<int64_t> constants;
  for (const Node& node : plan.nodes) {
    if (node.op != Op::kForEach) continue;
    for (NodeId id : plan.at(plan.blocks_of(node)[0]).nodes) {
      const Node& inner = plan.at(id);
      products += inner.op == Op::kMul ? 1 : 0;
      if (inner.op == Op::kLoad && plan.at(plan.args_of(inner)[0]).op == Op::kAdd)
        constants.push_back(plan.at(plan.args_of(plan.at(plan.args_of(inner)[0]))[1]).imm);
    }
  }
  EXPECT_EQ(products, 1);
  EXPECT_EQ(constants, (std::vector<int64_t>{16, 32}));
}

// Numbers from outside of the loop are computed there.
TEST(ShareIndices, WhatStandsOutsideStays) {
  Plan plan;
  PlanBuilder b{plan};
  const BufferId x = b.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 1 << 16});
  const BufferId y = b.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 1 << 16});
  const NodeId t = b.begin_for_each(b.index(0), b.index(10), 1).parameters[0];
  const NodeId row = b.mul(t, 64);
  const NodeId i = b.begin_for_each(b.index(0), b.index(60), 1).parameters[0];
  const NodeId ahead = b.load(x, {Scalar::kF32, 1}, b.add(b.add(row, i), 1));
  b.store(y, b.add(row, i), b.add(ahead, b.load(x, {Scalar::kF32, 1}, b.add(row, i))));
  b.end_for({});
  b.end_for({});
  share_indices(plan);
  for (const Block& block : plan.blocks) {
    const bool has_store =
        std::ranges::any_of(block.nodes, [&](NodeId id) { return plan.at(id).op == Op::kStore; });
    for (NodeId id : block.nodes) EXPECT_FALSE(has_store && plan.at(id).op == Op::kMul);
  }
}

}  // namespace
}  // namespace heddle::cpu
