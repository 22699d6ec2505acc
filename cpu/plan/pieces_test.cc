#include "heddle/cpu/plan/pieces.h"

#include <gtest/gtest.h>

#include "heddle/cpu/plan/builder.h"

namespace heddle::cpu {
namespace {

class PiecesTest : public ::testing::Test {
 protected:
  PiecesTest() {
    plan_.vector_bytes = 16;
    buffer_ = builder_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 64});
    result_ = builder_.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 64});
  }
  NodeId load(int64_t at) { return builder_.load(buffer_, {Scalar::kF32, 1}, builder_.index(at)); }

  Plan plan_;
  PlanBuilder builder_{plan_};
  BufferId buffer_, result_;
};

TEST_F(PiecesTest, ValuesThatAnotherPieceUsesAreKept) {
  const NodeId first = load(0), second = load(1);
  NodeId sum = builder_.binary(Op::kAdd, first, second);
  for (int i = 0; i < 4; ++i) sum = builder_.binary(Op::kMul, sum, second);
  builder_.store(result_, builder_.index(0), sum);
  const Pieces pieces = cut(plan_, plan_.entry, 4);
  ASSERT_EQ(pieces.pieces.size(), 2u);
  EXPECT_TRUE(pieces.pieces[0].inputs.empty());
  EXPECT_EQ(pieces.pieces[0].buffers, std::vector{buffer_});
  EXPECT_EQ(pieces.pieces[1].buffers, std::vector{result_});
  EXPECT_EQ(pieces.kept, pieces.pieces[1].inputs);
  ASSERT_EQ(pieces.kept.size(), 2u);  // the last product and `second`; constants are no inputs
  EXPECT_EQ(pieces.kept[0], second);
}

TEST_F(PiecesTest, ALoopStandsInOnePieceWithItsResults) {
  const NodeId start[] = {load(0)};
  const auto loop = builder_.begin_for(builder_.index(0), builder_.index(9), 1, start);
  NodeId product = loop.parameters[1];
  for (int i = 0; i < 6; ++i) product = builder_.binary(Op::kMul, product, start[0]);
  const NodeId yields[] = {product};
  const NodeId last = builder_.end_for(yields)[0];
  builder_.store(result_, builder_.index(0), last);
  EXPECT_EQ(code_size(plan_, plan_.entry), 9);  // the load, the loop and its products, the store
  const Pieces pieces = cut(plan_, plan_.entry, 1);
  ASSERT_EQ(pieces.pieces.size(), 3u);
  EXPECT_EQ(pieces.pieces[1].inputs, std::vector{start[0]});
  EXPECT_EQ(pieces.pieces[1].nodes.back(), last);
  EXPECT_EQ(pieces.pieces[2].inputs, std::vector{last});
}

TEST_F(PiecesTest, WideVectorsCountAsSeveral) {
  const NodeId wide = builder_.load(buffer_, {Scalar::kF32, 16}, builder_.index(0));
  builder_.store(result_, builder_.index(0), builder_.unary(Op::kNeg, wide));
  EXPECT_EQ(code_size(plan_, plan_.entry), 12);
}

}  // namespace
}  // namespace heddle::cpu
