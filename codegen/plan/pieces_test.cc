#include "heddle/codegen/plan/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "heddle/codegen/plan/builder.h"

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
  EXPECT_THAT(pieces.kept, testing::UnorderedElementsAreArray(pieces.pieces[1].inputs));
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

// As passes leave them: something between two results.
TEST_F(PiecesTest, ResultsThatStandApartAreInThePieceOfTheirLoop) {
  const NodeId start[] = {load(0), load(1)};
  const auto loop = builder_.begin_for(builder_.index(0), builder_.index(9), 1, start);
  const NodeId yields[] = {loop.parameters[2], loop.parameters[1]};
  const std::vector<NodeId> last = builder_.end_for(yields);
  const NodeId root = builder_.unary(Op::kSqrt, last[0]);
  builder_.store(result_, builder_.index(0), builder_.binary(Op::kAdd, root, last[1]));
  std::vector<NodeId>& nodes = plan_.blocks[plan_.entry.value].nodes;
  std::iter_swap(std::ranges::find(nodes, last[1]), std::ranges::find(nodes, root));
  for (const Piece& piece : cut(plan_, plan_.entry, 1).pieces) {
    const bool has_first = std::ranges::count(piece.nodes, last[0]) > 0;
    EXPECT_EQ(has_first, std::ranges::count(piece.nodes, last[1]) > 0);
  }
}

// Seven nodes a turn, of which one is rare, and pieces of ten.
TEST_F(PiecesTest, PiecesOfWhatRepeatsHaveOneForm) {
  NodeId sum = load(0);
  for (int turn = 0; turn < 100; ++turn) {
    const NodeId term = builder_.unary(Op::kSqrt, load(1));
    for (int i = 0; i < 4; ++i) sum = builder_.binary(Op::kAdd, sum, term);
    builder_.store(result_, builder_.index(0), sum);
  }
  const Pieces pieces = cut(plan_, plan_.entry, 28);
  ASSERT_GT(pieces.pieces.size(), 15u);
  for (size_t i = 3; i + 2 < pieces.pieces.size(); ++i) {
    EXPECT_EQ(pieces.pieces[i].form, pieces.pieces[2].form) << i;
    EXPECT_EQ(pieces.pieces[i].inputs.size(), pieces.pieces[2].inputs.size());
  }
}

TEST_F(PiecesTest, FormsSayWhatNodesDo) {
  const NodeId x = load(0), y = load(1), product = builder_.binary(Op::kMul, x, y);
  const auto form = [&](const std::vector<NodeId>& made) {
    Pieces pieces = cut(plan_, plan_.entry, 1);
    for (const Piece& piece : pieces.pieces) {
      if (piece.nodes.back() == made.back()) return piece.form;
    }
    return std::vector<int64_t>();
  };
  const auto difference = form({builder_.binary(Op::kSub, x, y)});
  EXPECT_FALSE(difference.empty());
  EXPECT_EQ(form({builder_.binary(Op::kSub, y, x)}), difference);  // of two inputs
  EXPECT_NE(form({builder_.binary(Op::kSub, x, x)}), difference);
  EXPECT_NE(form({builder_.binary(Op::kDiv, x, y)}), difference);
  // A sum of a product may be rounded once.
  EXPECT_NE(form({builder_.binary(Op::kSub, product, y)}), difference);
  EXPECT_NE(form({load(2)}), form({load(3)}));
  EXPECT_EQ(form({load(2)}), form({load(2)}));
}

// The same work on other memory, as unrolled layers are, is one form; each place is told.
TEST_F(PiecesTest, FormsDoNotSayWhereTheArenaHasABuffer) {
  const auto arena = [&](int64_t place) {
    return builder_.buffer({.kind = BufferInfo::Kind::kArena, .bytes = 64, .index = place});
  };
  const BufferId a = arena(0), b = arena(64), c = arena(128), again = arena(64);
  for (const auto& [from, to] : {std::pair(a, b), {b, c}, {b, again}})
    builder_.copy(to, from, 64);
  const std::vector<Piece> pieces = cut(plan_, plan_.entry, 1).pieces;
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].form, pieces[1].form);
  EXPECT_THAT(pieces[0].places, testing::UnorderedElementsAre(0, 64));
  EXPECT_THAT(pieces[1].places, testing::UnorderedElementsAre(64, 128));
  EXPECT_NE(pieces[1].form, pieces[2].form);  // it writes what it reads
  EXPECT_THAT(pieces[2].places, testing::ElementsAre(64));
}

// Layers with a weight and a kernel each.
TEST_F(PiecesTest, FormsDoNotSayWhichArgumentOrKernelItIs) {
  const auto buffer = [&](BufferInfo::Kind kind, int64_t index) {
    return builder_.buffer({.kind = kind, .bytes = 64, .index = index});
  };
  const BufferId h = buffer(BufferInfo::Kind::kArena, 0);
  for (const int layer : {5, 6}) {
    builder_.kernel({h, buffer(BufferInfo::Kind::kArgument, layer), h}, {}, "a product");
  }
  builder_.kernel({h, buffer(BufferInfo::Kind::kConstant, 5), h}, {}, "a product");
  const std::vector<Piece> pieces = cut(plan_, plan_.entry, 1).pieces;
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].form, pieces[1].form);
  EXPECT_NE(pieces[0].form, pieces[2].form);  // another table
  EXPECT_THAT(pieces[0].places, testing::UnorderedElementsAre(0, 0, 5));
  EXPECT_THAT(pieces[1].places, testing::UnorderedElementsAre(0, 1, 6));
  EXPECT_EQ(pieces[1].places[pieces[1].place_of_kernel.at(1)], 1);
}

// Its blocks become pieces of their own, which know where their buffers are.
TEST_F(PiecesTest, APieceWithALongBlockHasNoPlaces) {
  const BufferId a = builder_.buffer({.kind = BufferInfo::Kind::kArena, .bytes = 64, .index = 0});
  for (const int length : {2, 40}) {
    const auto loop = builder_.begin_for(builder_.index(0), builder_.index(9), 1, {});
    NodeId sum = builder_.load(a, {Scalar::kF32, 1}, loop.parameters[0]);
    for (int i = 0; i < length; ++i) sum = builder_.unary(Op::kSqrt, sum);
    builder_.store(a, loop.parameters[0], sum);
    builder_.end_for({});
    const Piece piece = cut(plan_, plan_.entry, 10).pieces.back();
    EXPECT_EQ(piece.places.empty(), length == 40) << length;
  }
}

TEST_F(PiecesTest, WideVectorsCountAsSeveral) {
  const NodeId wide = builder_.load(buffer_, {Scalar::kF32, 16}, builder_.index(0));
  builder_.store(result_, builder_.index(0), builder_.unary(Op::kNeg, wide));
  EXPECT_EQ(code_size(plan_, plan_.entry), 12);
}

}  // namespace
}  // namespace heddle::cpu
