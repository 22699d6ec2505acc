#include "heddle/codegen/plan/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::cpu {
namespace {

constexpr Type kF32x1 = {Scalar::kF32, 1};

class Builder : public ::testing::Test {
 protected:
  // The block that the node stands in.
  BlockId block_of(NodeId id) const {
    for (size_t i = 0; i < plan_.blocks.size(); ++i) {
      if (std::ranges::count(plan_.blocks[i].nodes, id) > 0) return BlockId(i);
    }
    return {};
  }
  bool is_in_entry(NodeId id) const { return block_of(id) == plan_.entry; }
  NodeId argument() {  // a value that no rule knows
    const BufferId buffer = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 64});
    return b_.load(buffer, kIndex, b_.index(0));
  }
  PlanBuilder::Region open_loop() { return b_.begin_for(b_.index(0), b_.index(8), 1, {}); }

  Plan plan_;
  PlanBuilder b_{plan_};
};

TEST_F(Builder, WhatALoopDoesNotChangeStandsBeforeIt) {
  const NodeId x = argument();
  const auto outer = open_loop();
  const auto inner = open_loop();
  const NodeId fixed = b_.mul(x, x);
  const NodeId by_outer = b_.add(fixed, outer.parameters[0]);
  const NodeId by_inner = b_.add(by_outer, inner.parameters[0]);
  b_.end_for({});
  b_.end_for({});
  EXPECT_TRUE(is_in_entry(fixed));
  EXPECT_FALSE(is_in_entry(by_outer));
  EXPECT_NE(block_of(by_outer), block_of(by_inner));
  EXPECT_EQ(
      block_of(by_inner).value,
      plan_.blocks_of(plan_.at(plan_.blocks[block_of(by_outer).value].nodes.back()))[0].value);
}

TEST_F(Builder, EqualNodesAreMadeOnce) {
  const NodeId x = argument(), y = argument();
  EXPECT_EQ(b_.add(x, y), b_.add(x, y));
  EXPECT_NE(b_.add(x, y), b_.add(y, x));
  EXPECT_NE(b_.add(x, y), b_.mul(x, y));
  EXPECT_EQ(b_.index(5), b_.index(5));
  EXPECT_NE(b_.index(5), b_.integer({Scalar::kI32, 1}, 5));
  open_loop();
  EXPECT_EQ(b_.add(x, y), b_.add(x, y));
  EXPECT_TRUE(is_in_entry(b_.add(x, y)));
  b_.end_for({});
}

// Each time anew: a store may stand between them.
TEST_F(Builder, LoadsAreMadeEachTime) {
  const BufferId buffer = b_.buffer({.bytes = 64});
  EXPECT_NE(b_.load(buffer, kF32x1, b_.index(0)), b_.load(buffer, kF32x1, b_.index(0)));
}

// Code that never runs may store outside of an array.
TEST_F(Builder, StoresOutsideOfAnArrayAreNotFollowed) {
  const BufferId buffer = b_.buffer({.kind = BufferInfo::Kind::kArena, .bytes = 64});
  const NodeId value = b_.splat(b_.bits(kF32x1, 0), 4);
  for (const int64_t at :
       {int64_t{-4}, int64_t{-1}, int64_t{13}, int64_t{16}, std::numeric_limits<int64_t>::min(),
        std::numeric_limits<int64_t>::max()}) {
    b_.store(buffer, b_.index(at), value);
    EXPECT_EQ(plan_.at(b_.load(buffer, {Scalar::kF32, 4}, b_.index(0))).op, Op::kLoad) << at;
  }
  b_.store(buffer, b_.index(12), value);
  EXPECT_NE(plan_.at(b_.load(buffer, {Scalar::kF32, 4}, b_.index(12))).op, Op::kLoad);
}

TEST_F(Builder, ConstantIntegersAreExtended) {
  const NodeId low = b_.integer({Scalar::kI8, 1}, -3);
  EXPECT_EQ(b_.cast(Op::kSExtend, Scalar::kI64, low), b_.index(-3));
  EXPECT_EQ(b_.cast(Op::kZExtend, Scalar::kI64, low), b_.index(253));
  EXPECT_EQ(b_.cast(Op::kZExtend, Scalar::kI64, b_.integer({Scalar::kI32, 1}, 7)), b_.index(7));
}

TEST_F(Builder, ArithmeticOnConstantFloatsFolds) {
  const auto number = [&](double value) { return b_.number(kF32x1, value); };
  EXPECT_EQ(b_.binary(Op::kMul, number(1.5), number(-2)), number(-3));
  EXPECT_EQ(b_.binary(Op::kDiv, number(1), number(3)), number(1.0f / 3.0f));
  EXPECT_EQ(b_.unary(Op::kFloor, number(-1.5)), number(-2));
  EXPECT_EQ(b_.compare(Predicate::kLt, number(-1.5), number(0)), b_.bits({Scalar::kPred, 1}, 1));
  // NaN has a sign of the machine's, and a mode may flush subnormals.
  EXPECT_FALSE(b_.is_constant(b_.binary(Op::kSub, number(INFINITY), number(INFINITY))));
  EXPECT_FALSE(b_.is_constant(b_.binary(Op::kMul, number(1e-30), number(1e-10))));
  EXPECT_FALSE(b_.is_constant(b_.binary(Op::kMul, number(1e-40), number(1e10))));
}

TEST_F(Builder, MasksFold) {
  const NodeId mask = b_.compare(Predicate::kEq, argument(), b_.index(1));
  const NodeId yes = b_.bits({Scalar::kPred, 1}, 1), no = b_.bits({Scalar::kPred, 1}, 0);
  EXPECT_EQ(b_.binary(Op::kAnd, mask, yes), mask);
  EXPECT_EQ(b_.binary(Op::kAnd, no, mask), no);
  EXPECT_EQ(b_.binary(Op::kOr, mask, no), mask);
  EXPECT_EQ(b_.binary(Op::kOr, yes, mask), yes);
  EXPECT_EQ(b_.binary(Op::kXor, mask, no), mask);
  EXPECT_EQ(b_.binary(Op::kXor, yes, no), yes);
  EXPECT_EQ(b_.compare(Predicate::kNe, mask, no), mask);
  EXPECT_EQ(b_.compare(Predicate::kEq, mask, yes), mask);
  EXPECT_NE(b_.compare(Predicate::kEq, mask, no), mask);
}

TEST_F(Builder, IndexArithmeticFolds) {
  const NodeId x = argument();
  EXPECT_EQ(b_.add(b_.index(2), b_.index(3)), b_.index(5));
  EXPECT_EQ(b_.mul(b_.index(2), b_.index(3)), b_.index(6));
  EXPECT_EQ(b_.binary(Op::kSub, b_.index(2), b_.index(3)), b_.index(-1));
  EXPECT_EQ(b_.binary(Op::kSMin, b_.index(2), b_.index(3)), b_.index(2));
  EXPECT_EQ(b_.binary(Op::kSMax, b_.index(-2), b_.index(3)), b_.index(3));
  EXPECT_EQ(b_.add(x, int64_t{0}), x);
  EXPECT_EQ(b_.add(b_.index(0), x), x);
  EXPECT_EQ(b_.mul(x, int64_t{1}), x);
  EXPECT_EQ(b_.mul(b_.index(0), x), b_.index(0));
  EXPECT_EQ(b_.mul(b_.index(INT64_MAX), b_.index(2)), b_.index(-2)) << "as the machine wraps";
}

// x + 0 is not x of -0, and 0 x is not 0 of NaN.
TEST_F(Builder, FloatsDoNotFold) {
  const NodeId x = b_.cast(Op::kSToFloat, Scalar::kF32, argument());
  EXPECT_NE(b_.add(x, b_.number(kF32x1, 0)), x);
  EXPECT_NE(b_.mul(x, b_.number(kF32x1, 0)), b_.number(kF32x1, 0));
}

TEST_F(Builder, SlowQuotientsByConstantsAreProducts) {
  plan_.vector_bytes = 64;
  const NodeId x = b_.fma(b_.cast(Op::kSToFloat, Scalar::kF32, argument()), b_.number(kF32x1, 0.5),
                          b_.number(kF32x1, 0.25));
  const auto op_of = [&](NodeId dividend, double divisor) {
    const NodeId y = b_.number(b_.type(dividend), divisor);
    return plan_.at(b_.binary(Op::kDiv, dividend, y)).op;
  };
  EXPECT_EQ(op_of(x, 0.25), Op::kMul);
  EXPECT_EQ(op_of(x, 3), Op::kDiv) << "one is quicker than conversions";
  const NodeId all = b_.splat(x, 16);
  EXPECT_EQ(op_of(all, 3), Op::kDivBy);
  EXPECT_EQ(op_of(all, 0.7F), Op::kFloatCast) << "some sums of products round otherwise";
  EXPECT_EQ(op_of(all, 0x1p-149), Op::kFloatCast) << "its inverse is no f32";
  EXPECT_EQ(op_of(all, 0), Op::kDiv);
}

// No product of a whole number is subnormal, so that nothing is tested.
TEST_F(Builder, QuotientsOfWholeNumbersByConstantsAreTwoProducts) {
  plan_.vector_bytes = 32;
  const NodeId x = b_.cast(Op::kUToFloat, Scalar::kF32, argument());
  const auto op_of = [&](double divisor) {
    return plan_.at(b_.binary(Op::kDiv, x, b_.number(kF32x1, divisor))).op;
  };
  EXPECT_EQ(op_of(255), Op::kFma);
  EXPECT_EQ(op_of(-3), Op::kFma);
  EXPECT_EQ(op_of(256), Op::kMul);
  EXPECT_EQ(plan_.at(b_.binary(Op::kDiv, b_.unary(Op::kFloor, x), b_.number(kF32x1, 7))).op,
            Op::kFma);
  EXPECT_EQ(op_of(0.7F), Op::kDiv) << "some sums of products round otherwise";
  EXPECT_EQ(op_of(0x1p120 * 3), Op::kDiv) << "products are subnormal";
  plan_.vector_bytes = 16;
  EXPECT_EQ(op_of(255), Op::kDiv) << "no fma";
}

TEST_F(Builder, AFoldBeginsWithItsFirstValue) {
  const NodeId x = b_.cast(Op::kSToFloat, Scalar::kF32, argument());
  const NodeId zero = b_.number(kF32x1, 0), infinity = b_.number(kF32x1, INFINITY);
  EXPECT_EQ(b_.binary(Op::kMin, infinity, x), x);
  EXPECT_EQ(b_.binary(Op::kMax, b_.number(kF32x1, -INFINITY), x), x);
  EXPECT_NE(b_.binary(Op::kMax, infinity, x), x);
  const NodeId sum = b_.add(zero, x);
  EXPECT_EQ(b_.add(sum, zero), sum) << "0 + x is never -0";
  const NodeId product = b_.add(zero, b_.mul(x, b_.add(x, x)));
  EXPECT_NE(b_.add(zero, product), product) << "one rounding of x * y + 0 may give -0";
  EXPECT_EQ(b_.add(b_.number(kF32x1, -0.0), x), x);
  EXPECT_NE(b_.add(zero, x), x);
  const NodeId square = b_.mul(x, x);
  EXPECT_EQ(b_.add(zero, square), square) << "no square is -0";
}

TEST_F(Builder, ConstantsHaveOneFormForEachValue) {
  EXPECT_EQ(b_.bits({Scalar::kI8, 1}, 0xff), b_.integer({Scalar::kI8, 1}, -1));
  EXPECT_EQ(b_.bits({Scalar::kPred, 1}, 3), b_.bits({Scalar::kPred, 1}, 1));
  EXPECT_EQ(b_.bits_of(b_.bits({Scalar::kPred, 1}, -1)), 1);
}

TEST_F(Builder, IntegersOfAllWidthsFold) {
  const Type i8 = {Scalar::kI8, 4}, i32 = {Scalar::kI32, 1};
  EXPECT_EQ(b_.add(b_.integer(i8, 127), b_.integer(i8, 1)), b_.integer(i8, -128));
  EXPECT_EQ(b_.binary(Op::kSub, b_.integer(i32, 3), b_.integer(i32, 5)), b_.integer(i32, -2));
  const Type pred = {Scalar::kPred, 1};
  EXPECT_EQ(b_.compare(Predicate::kLt, b_.integer(i32, -1), b_.integer(i32, 1)), b_.bits(pred, 1));
  EXPECT_EQ(b_.compare(Predicate::kULt, b_.integer(i32, -1), b_.integer(i32, 1)), b_.bits(pred, 0));
  const NodeId x = argument(), y = argument();
  EXPECT_EQ(b_.select(b_.bits(pred, 1), x, y), x);
  EXPECT_EQ(b_.select(b_.bits({Scalar::kPred, 4}, 0), x, y), b_.splat(y, 4));
}

TEST_F(Builder, ScalarsGoToEveryLane) {
  const NodeId x = argument();
  const NodeId sum = b_.add(x, b_.lanes(Scalar::kI64, 4));
  EXPECT_EQ(b_.type(sum), (Type{Scalar::kI64, 4}));
  EXPECT_EQ(b_.splat(b_.index(3), 4), b_.bits({Scalar::kI64, 4}, 3));
  EXPECT_EQ(b_.splat(x, 1), x);
}

// What stands in one branch is not known in the next one, and does not leave its own.
TEST_F(Builder, ABranchKeepsItsNodes) {
  const NodeId x = argument(), y = argument();
  b_.begin_switch(x, {});
  b_.begin_branch();
  const NodeId first = b_.add(x, y);
  open_loop();
  EXPECT_EQ(b_.add(x, y), first);
  b_.end_for({});
  b_.end_branch({});
  b_.begin_branch();
  const NodeId second = b_.add(x, y);
  b_.end_branch({});
  b_.end_switch();
  EXPECT_NE(first, second);
  EXPECT_FALSE(is_in_entry(first));
  EXPECT_NE(block_of(first), block_of(second));
  EXPECT_TRUE(is_in_entry(b_.add(x, y))) << "neither branch's";
}

TEST_F(Builder, LoadsStayInsideOfTheFloor) {
  const BufferId buffer = b_.buffer({.bytes = 64});
  open_loop();
  const NodeId free = b_.load(buffer, kF32x1, b_.index(0));
  NodeId stays, product;
  BlockId floor_block;
  {
    const PlanBuilder::Floor floor(b_);
    floor_block = block_of(b_.load(buffer, kF32x1, b_.index(0)));
    open_loop();
    stays = b_.load(buffer, kF32x1, b_.index(0));
    product = b_.mul(stays, stays);
    b_.end_for({});
  }
  const NodeId after = b_.load(buffer, kF32x1, b_.index(0));
  b_.end_for({});
  EXPECT_TRUE(is_in_entry(free)) << "without a floor it goes to where its index is known";
  EXPECT_NE(floor_block, plan_.entry);
  EXPECT_EQ(block_of(stays), floor_block) << "out of the inner loop, not of the outer one";
  EXPECT_EQ(block_of(product), floor_block) << "as its operand, a load";
  EXPECT_TRUE(is_in_entry(after)) << "the floor is gone";
}

TEST_F(Builder, LoadsOfWhatNothingWritesLeaveTheFloor) {
  const BufferId written = b_.buffer({.bytes = 64}), still = b_.buffer({.bytes = 64});
  const NodeId value = argument();
  const PlanBuilder::Still while_it_lives(b_, still);
  open_loop();
  const PlanBuilder::Floor floor(b_);
  EXPECT_TRUE(is_in_entry(b_.load(still, kF32x1, b_.index(3))));
  EXPECT_FALSE(is_in_entry(b_.load(written, kF32x1, b_.index(3))));
  EXPECT_TRUE(is_in_entry(argument())) << "the caller's";
  EXPECT_TRUE(is_in_entry(value));
  b_.end_for({});
}

TEST_F(Builder, WhatWasStoredIsNotLoaded) {
  const BufferId buffer = b_.buffer({.bytes = 64});
  const NodeId x = b_.splat(argument(), 4), y = b_.bits({Scalar::kI64, 2}, 7);
  b_.store(buffer, b_.index(0), x);
  b_.store(buffer, b_.index(4), y);
  EXPECT_EQ(b_.load(buffer, {Scalar::kI64, 4}, b_.index(0)), x);
  const Node& lane = plan_.at(b_.load(buffer, kIndex, b_.index(2)));
  EXPECT_EQ(lane.op, Op::kExtract);
  EXPECT_EQ(lane.imm, 2);
  EXPECT_EQ(plan_.at(b_.load_strided(buffer, {Scalar::kI64, 3}, b_.index(1), 2)).op, Op::kShuffle);
  EXPECT_EQ(plan_.at(b_.load(buffer, {Scalar::kI64, 4}, b_.index(3))).op, Op::kLoad) << "the rest";
  EXPECT_EQ(plan_.at(b_.load(buffer, {Scalar::kF64, 1}, b_.index(0))).op, Op::kLoad);
  b_.store(buffer, argument(), b_.index(1));
  EXPECT_EQ(plan_.at(b_.load(buffer, kIndex, b_.index(2))).op, Op::kLoad) << "no longer known";
}

// Gathers of AVX-512 take as many of these as they have lanes.
TEST_F(Builder, IndicesOfAGatherAre32BitsWhereTheseHoldThem) {
  plan_.vector_bytes = 64;
  constexpr Type kIndices = {Scalar::kI32, 16};
  const BufferId numbers = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 64});
  const BufferId table = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 4096});
  const NodeId loaded = b_.load(numbers, kIndices, b_.index(0));
  const NodeId wide = b_.cast(Op::kSExtend, Scalar::kI64, loaded);
  const NodeId within =
      b_.binary(Op::kSMin, b_.binary(Op::kSMax, wide, b_.index(0)), b_.index(1000));
  const auto index_of = [&](NodeId gather) { return plan_.args_of(plan_.at(gather))[0]; };
  const NodeId at = index_of(b_.gather(table, Scalar::kF32, b_.add(b_.mul(within, 2), argument())));
  EXPECT_EQ(b_.type(at), kIndices);
  std::vector<NodeId> queue = {at};  // none of it is computed with 64 bits but what all lanes share
  for (size_t i = 0; i < queue.size(); ++i) {
    EXPECT_TRUE(b_.type(queue[i]).scalar == Scalar::kI32 || b_.type(queue[i]).lanes == 1);
    for (NodeId arg : plan_.args_of(plan_.at(queue[i]))) queue.push_back(arg);
  }
  // A sum of 64 bits may be larger than its half before it is cut.
  const NodeId most = b_.binary(Op::kSMin, b_.mul(wide, wide), b_.index(1000));
  const NodeId cut = index_of(b_.gather(table, Scalar::kF32, most));
  EXPECT_EQ(plan_.at(cut).op, Op::kTruncate);
  EXPECT_EQ(plan_.args_of(plan_.at(cut))[0], most);
}

TEST_F(Builder, WhatALoopMayStoreIsNotKnown) {
  const BufferId buffer = b_.buffer({.bytes = 8}), other = b_.buffer({.bytes = 8});
  const NodeId x = argument();
  b_.store(buffer, b_.index(0), x);
  b_.store(other, b_.index(0), x);
  open_loop();
  {
    const PlanBuilder::Floor floor(b_);
    EXPECT_EQ(plan_.at(b_.load(buffer, kIndex, b_.index(0))).op, Op::kLoad) << "not in turn 1";
    b_.store(buffer, b_.index(0), b_.add(x, 1));
  }
  b_.end_for({});
  EXPECT_EQ(plan_.at(b_.load(buffer, kIndex, b_.index(0))).op, Op::kLoad);
  EXPECT_EQ(b_.load(other, kIndex, b_.index(0)), x) << "it did not";
}

TEST_F(Builder, ACopyOfWhatIsKnownIsAStore) {
  const BufferId x = b_.buffer({.bytes = 16}), y = b_.buffer({.bytes = 16});
  const NodeId value = b_.splat(argument(), 2);
  b_.store(x, b_.index(0), value);
  b_.copy(y, x, 16);
  EXPECT_EQ(plan_.nodes.back().op, Op::kStore);
  EXPECT_EQ(b_.load(y, {Scalar::kI64, 2}, b_.index(0)), value);
}

TEST_F(Builder, StoresThatNothingReadsGo) {
  const BufferId x = b_.buffer({.bytes = 64}), y = b_.buffer({.bytes = 64});
  const BufferId out = b_.buffer({.kind = BufferInfo::Kind::kResult, .bytes = 64});
  const NodeId value = argument();
  b_.store(x, value, value);
  b_.copy(y, x, 64);  // the last that reads x
  b_.store(out, b_.index(0), value);
  remove_unread_stores(plan_);
  int stores = 0;
  for (NodeId id : plan_.at(plan_.entry).nodes)
    stores += plan_.at(id).op == Op::kStore || plan_.at(id).op == Op::kCopy ? 1 : 0;
  EXPECT_EQ(stores, 1) << "the result's";
}

TEST_F(Builder, StoresStayWhereTheyAre) {
  const BufferId buffer = b_.buffer({.bytes = 64});
  open_loop();
  b_.store(buffer, b_.index(0), b_.number(kF32x1, 1));
  b_.end_for({});
  const Node& loop = plan_.at(plan_.at(plan_.entry).nodes.back());
  ASSERT_EQ(loop.op, Op::kFor);
  EXPECT_EQ(plan_.at(plan_.at(plan_.blocks_of(loop)[0]).nodes.back()).op, Op::kStore);
}

TEST_F(Builder, ALoopOfOneTurnLeavesNoTrace) {
  const NodeId initial[] = {argument()};
  auto loop = b_.begin_for(b_.index(4), b_.index(8), 4, initial);
  EXPECT_EQ(loop.parameters[0], b_.index(4));
  EXPECT_EQ(loop.parameters[1], initial[0]);
  const NodeId next[] = {b_.add(loop.parameters[1], loop.parameters[0])};
  EXPECT_EQ(b_.end_for(next)[0], next[0]);
  for (const Node& node : plan_.nodes) EXPECT_NE(node.op, Op::kFor);
}

TEST_F(Builder, LoopsHandValuesOn) {
  const NodeId initial[] = {b_.index(1)};
  auto loop = b_.begin_while(initial);
  const NodeId goes_on = b_.compare(Predicate::kLt, loop.parameters[0], b_.index(100));
  auto body = b_.begin_body(goes_on);
  const NodeId next[] = {b_.mul(body.parameters[0], int64_t{2})};
  const std::vector<NodeId> results = b_.end_while(next);
  ASSERT_EQ(results.size(), 1u);
  const Node& result = plan_.at(results[0]);
  EXPECT_EQ(result.op, Op::kResult);
  const Node& control = plan_.at(plan_.args_of(result)[0]);
  EXPECT_EQ(control.op, Op::kWhile);
  EXPECT_EQ(plan_.at(plan_.blocks_of(control)[0]).yields[0], goes_on);
  EXPECT_EQ(plan_.at(plan_.blocks_of(control)[1]).yields[0], next[0]);
}

TEST_F(Builder, CopiesOfNothingOrToThemselvesAreNone) {
  const BufferId x = b_.buffer({.bytes = 64}), y = b_.buffer({.bytes = 64});
  b_.copy(x, x, 64);
  b_.copy(x, y, 0);
  EXPECT_TRUE(plan_.nodes.empty());
  b_.copy(x, y, 64);
  EXPECT_EQ(plan_.nodes.back().op, Op::kCopy);
}

// The element of the vectors that a lane comes from, through all shuffles.
int64_t element_of(const Plan& plan, NodeId id, uint32_t lane, std::span<const NodeId> vectors) {
  const auto found = std::ranges::find(vectors, id);
  if (found != vectors.end())
    return (found - vectors.begin()) * plan.at(id).type.lanes + static_cast<int64_t>(lane);
  const Node& shuffle = plan.at(id);
  const LaneSource from = plan.shuffles[static_cast<size_t>(shuffle.imm)][lane];
  return element_of(plan, plan.args_of(shuffle)[from.operand], from.lane, vectors);
}

TEST_F(Builder, ColumnsOfRowsAndRowsOfColumns) {
  const BufferId x = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 4096});
  for (const int32_t lanes : {2, 3, 8, 16}) {
    for (const int64_t count : {1, 2, 3, 4, 5, 6, 8, 9, 12}) {
      std::vector<NodeId> vectors;
      for (int64_t i = 0; i < count; ++i)
        vectors.push_back(b_.load(x, {Scalar::kF32, lanes}, b_.index(i * lanes)));
      const std::vector<NodeId> columns = b_.columns_of(vectors), rows = b_.rows_of(vectors);
      ASSERT_EQ(std::ssize(columns), count);
      ASSERT_EQ(std::ssize(rows), count);
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          const auto at = static_cast<size_t>(i);
          const auto l = static_cast<uint32_t>(lane);
          EXPECT_EQ(element_of(plan_, columns[at], l, vectors), lane * count + i);
          const int64_t element = i * lanes + lane;
          EXPECT_EQ(element_of(plan_, rows[at], l, vectors),
                    element % count * lanes + element / count);
        }
      }
    }
  }
}

TEST_F(Builder, OneColumnNeedsTheShufflesThatItIsMadeOf) {
  const BufferId x = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 4096});
  std::vector<NodeId> rows;
  for (int64_t i = 0; i < 8; ++i) rows.push_back(b_.load(x, {Scalar::kF32, 16}, b_.index(i * 16)));
  const size_t before = plan_.nodes.size();
  const NodeId column = b_.column_of(rows, 5);
  EXPECT_EQ(plan_.nodes.size() - before, 7);  // 4, 2 and 1
  for (uint32_t lane = 0; lane < 16; ++lane)
    EXPECT_EQ(element_of(plan_, column, lane, rows), lane * 8 + 5);
}

TEST_F(Builder, CastsOfConstantFloatsFold) {
  const auto cast = [&](Scalar to, NodeId x) { return b_.cast(Op::kFloatCast, to, x); };
  const NodeId tenth = cast(Scalar::kF32, b_.number({Scalar::kF64, 1}, 0.1));
  ASSERT_TRUE(b_.is_constant(tenth));
  EXPECT_EQ(b_.float_of(tenth), 0.1F);
  const NodeId wide = cast(Scalar::kF64, tenth);
  ASSERT_TRUE(b_.is_constant(wide));
  EXPECT_EQ(b_.float_of(wide), static_cast<double>(0.1F));
  // What a machine or its mode decides.
  for (double value : {std::nan(""), 1e-310})
    EXPECT_FALSE(b_.is_constant(cast(Scalar::kF32, b_.number({Scalar::kF64, 1}, value))));
  const NodeId subnormal = b_.bits({Scalar::kF32, 1}, 1);
  EXPECT_FALSE(b_.is_constant(cast(Scalar::kF64, subnormal)));
}

// Element l * step of what lies there, and no load reaches beyond the outermost ones.
TEST_F(Builder, StridedLoadsStayBetweenTheirLanes) {
  const BufferId x = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 4096});
  for (const int32_t lanes : {2, 3, 8, 16}) {
    for (const int64_t step : {-4, -3, -2, -1, 2, 3, 4}) {
      const int64_t at = 100;
      const NodeId got = b_.load_strided(x, {Scalar::kF32, lanes}, b_.index(at), step);
      const Node& shuffle = plan_.at(got);
      ASSERT_EQ(shuffle.op, Op::kShuffle);
      const int64_t last = at + (lanes - 1) * step;
      for (int32_t lane = 0; lane < lanes; ++lane) {
        const LaneSource from =
            plan_.shuffles[static_cast<size_t>(shuffle.imm)][static_cast<size_t>(lane)];
        const Node& load = plan_.at(plan_.args_of(shuffle)[from.operand]);
        ASSERT_EQ(load.op, Op::kLoad);
        const int64_t first = b_.bits_of(plan_.args_of(load)[0]);
        EXPECT_EQ(first + from.lane, at + lane * step);
        EXPECT_GE(first, std::min(at, last));
        EXPECT_LE(first + lanes - 1, std::max(at, last));
      }
    }
  }
}

// Rows of pixels that are reversed, or every other one.
TEST_F(Builder, RowsOfStridedColumnsAreOfNeighbours) {
  const BufferId x = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 40000});
  const NodeId start = argument();
  constexpr int32_t kLanes = 8;
  for (const int64_t step : {-6, -5, -3, 3, 5, 6}) {
    for (const int64_t width : {2, 3, 5}) {
      if (std::abs(step) < width) continue;  // rows do not overlap
      std::vector<NodeId> columns;
      for (int64_t c = 0; c < width; ++c)
        columns.push_back(b_.load_strided(x, {Scalar::kF32, kLanes}, b_.add(start, c), step));
      const std::vector<NodeId> rows = b_.moved_rows(columns);
      ASSERT_EQ(std::ssize(rows), width) << step;
      const int64_t last = (kLanes - 1) * step;
      for (int64_t i = 0; i < width * kLanes; ++i) {
        const Node& row = plan_.at(rows[static_cast<size_t>(i / kLanes)]);
        ASSERT_EQ(row.op, Op::kShuffle);
        const LaneSource from =
            plan_.shuffles[static_cast<size_t>(row.imm)][static_cast<size_t>(i % kLanes)];
        const Node& load = plan_.at(plan_.args_of(row)[from.operand]);
        ASSERT_EQ(load.op, Op::kLoad);
        const auto at = b_.distance(start, plan_.args_of(load)[0]);
        ASSERT_TRUE(at.has_value());
        EXPECT_EQ(*at + from.lane, i % width + i / width * step) << step << ", element " << i;
        EXPECT_GE(*at, std::min<int64_t>(last, 0)) << "nothing below is read";
        EXPECT_LE(*at + kLanes, std::max<int64_t>(last, 0) + width) << "nor above";
      }
    }
  }
  const auto column = [&](BufferId of, int64_t at, int64_t step) {
    return b_.load_strided(of, {Scalar::kF32, kLanes}, b_.add(start, at), step);
  };
  const BufferId y = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 40000});
  const auto moved = [&](NodeId first, NodeId second) {
    return b_.moved_rows(std::vector{first, second}).size();
  };
  EXPECT_EQ(moved(column(x, 0, 6), column(x, 1, 6)), 2u);
  EXPECT_EQ(moved(column(x, 0, 6), column(y, 1, 6)), 0u);
  EXPECT_EQ(moved(column(x, 0, 6), column(x, 1, 5)), 0u);
  EXPECT_EQ(moved(column(x, 0, 6), column(x, 100, 6)), 0u) << "far apart";
  EXPECT_EQ(moved(column(x, 0, 6), b_.add(column(x, 1, 6), column(x, 1, 6))), 0u);
}

TEST_F(Builder, ExactFloatsAreOthers) {
  const NodeId x = b_.cast(Op::kSToFloat, Scalar::kF32, argument());
  const NodeId free = b_.mul(x, x);
  const PlanBuilder::Exact exact(b_);
  EXPECT_NE(b_.mul(x, x), free);
  EXPECT_EQ(plan_.at(b_.mul(x, x)).imm, 1);
}

}  // namespace
}  // namespace heddle::cpu
