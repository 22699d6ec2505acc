#include "heddle/codegen/plan/passes/fuse.h"

#include <gtest/gtest.h>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr Type kScalar = {Scalar::kF32, 1}, kPart = {Scalar::kF32, 4}, kRow = {Scalar::kF32, 16};
constexpr int64_t kRows = 64;

class Fuse : public ::testing::Test {
 protected:
  BufferId array(BufferInfo::Kind kind = BufferInfo::Kind::kArena) {
    const auto number = static_cast<int64_t>(plan_.buffers.size());
    return b_.buffer(
        {.kind = kind, .bytes = 64 * kRows, .index = number, .born = number, .last = number + 1});
  }
  // for each row i: to[i] = from[i + ahead] * 2
  void rows(BufferId to, BufferId from, int64_t ahead = 0) {
    const NodeId i = b_.begin_for_each(b_.index(0), b_.index(kRows), 1).parameters[0];
    const NodeId x = b_.load(from, kRow, b_.mul(b_.add(i, ahead), 16));
    b_.store(to, b_.mul(i, 16), b_.add(x, x));
    b_.end_for({});
  }
  // for each i: to[i] = the first element of from's row i, `together` of them a turn
  void heads(BufferId to, BufferId from, int64_t together = 1) {
    const NodeId i = b_.begin_for_each(b_.index(0), b_.index(kRows), together).parameters[0];
    for (int64_t k = 0; k < together; ++k) {
      const NodeId row = b_.load(from, kRow, b_.mul(b_.add(i, k), 16));
      b_.store(to, b_.add(i, k), b_.extract(row, 0));
    }
    b_.end_for({});
  }
  // for each row i, for each column k of it, 4 at a time: to[i][k] = from[i][k] * 2
  void columns(BufferId to, BufferId from, int64_t from_row = 0) {
    const NodeId i = b_.begin_for_each(b_.index(0), b_.index(kRows), 1).parameters[0];
    const NodeId row = b_.mul(i, 16), read = b_.mul(b_.add(i, from_row), 16);
    const NodeId k = b_.begin_for_each(b_.index(0), b_.index(16), 4).parameters[0];
    const NodeId x = b_.load(from, kPart, b_.add(read, k));
    b_.store(to, b_.add(row, k), b_.add(x, x));
    b_.end_for({});
    b_.end_for({});
  }
  // for each element i, 4 at a time: to[i] = from[i + ahead] * 2
  void elements(BufferId to, BufferId from, int64_t ahead = 0) {
    const NodeId i = b_.begin_for_each(b_.index(0), b_.index(16 * kRows), 4).parameters[0];
    const NodeId x = b_.load(from, kPart, b_.add(i, ahead));
    b_.store(to, i, b_.add(x, x));
    b_.end_for({});
  }
  // for each row i, for each k of 8 columns: to[i + ahead][first + k] = from[i][k]
  void part(BufferId to, BufferId from, int64_t first, int64_t ahead = 0, int64_t width = 16) {
    const NodeId i = b_.begin_for_each(b_.index(0), b_.index(kRows), 1).parameters[0];
    const NodeId row = b_.mul(b_.add(i, ahead), width);
    const NodeId k = b_.begin_for_each(b_.index(0), b_.index(8), 4).parameters[0];
    b_.store(to, b_.add(b_.add(row, k), first), b_.load(from, kPart, b_.add(b_.mul(i, 16), k)));
    b_.end_for({});
    b_.end_for({});
  }
  int fuse(std::vector<std::pair<int64_t, int64_t>> taken = {}) {
    fuse_loops(plan_, taken);
    return static_cast<int>(count(plan_.entry, Op::kForEach));
  }
  [[nodiscard]] int64_t count(BlockId block, Op op) const {
    int64_t found = 0;
    for (NodeId id : plan_.at(block).nodes) {
      found += plan_.at(id).op == op ? 1 : 0;
      for (BlockId inner : plan_.blocks_of(plan_.at(id))) found += count(inner, op);
    }
    return found;
  }

  Plan plan_;
  PlanBuilder b_{plan_};
  BufferId x_ = array(BufferInfo::Kind::kArgument), y_ = array(),
           z_ = array(BufferInfo::Kind::kResult);
};

TEST_F(Fuse, WhatTheSecondLoadsIsARegister) {
  rows(y_, x_);
  heads(z_, y_);
  EXPECT_EQ(fuse(), 1);
  EXPECT_EQ(count(plan_.entry, Op::kLoad), 1) << "of x";
  EXPECT_EQ(count(plan_.entry, Op::kStore), 1) << "y is in no memory";
}

TEST_F(Fuse, SeveralTurnsOfTheFirst) {
  rows(y_, x_);
  heads(z_, y_, 4);
  EXPECT_EQ(fuse(), 1);
  EXPECT_EQ(count(plan_.entry, Op::kLoad), 4);
  EXPECT_EQ(count(plan_.entry, Op::kStore), 4);
}

TEST_F(Fuse, AChain) {
  const BufferId w = array();
  rows(y_, x_);
  rows(w, y_);
  heads(z_, w);
  EXPECT_EQ(fuse(), 1);
  EXPECT_EQ(count(plan_.entry, Op::kStore), 1);
}

// What the second stores lies over what the first stored of another width: the third loads that.
TEST_F(Fuse, StoresOfAnotherWidthReplaceWhatWasStored) {
  const auto each_row = [&](const auto& body) {
    const NodeId i = b_.begin_for_each(b_.index(0), b_.index(kRows), 1).parameters[0];
    body(b_.mul(i, 16));
    b_.end_for({});
  };
  const auto at = [&](NodeId row, int64_t k) { return b_.add(row, k); };
  each_row([&](NodeId row) {
    for (int64_t k = 0; k < 16; ++k) b_.store(y_, at(row, k), b_.load(x_, kScalar, at(row, k)));
  });
  each_row([&](NodeId row) {
    const NodeId y = b_.load(y_, kRow, row);
    b_.store(y_, row, b_.add(y, y));
  });
  each_row([&](NodeId row) { b_.store(z_, at(row, 3), b_.load(y_, kScalar, at(row, 3))); });
  EXPECT_EQ(fuse(), 1);
  EXPECT_EQ(count(plan_.entry, Op::kLoad), 18) << "16 of x, a row of y, and one of its elements";
}

// Loops in loops become one of each.
TEST_F(Fuse, Nests) {
  columns(y_, x_);
  columns(z_, y_);
  EXPECT_EQ(fuse(), 2);
  EXPECT_EQ(count(plan_.entry, Op::kLoad), 1) << "of x";
  EXPECT_EQ(count(plan_.entry, Op::kStore), 1) << "y is in no memory";
}

TEST_F(Fuse, ANestAndALoopOverAllElements) {
  columns(y_, x_);
  elements(y_, y_);
  elements(z_, y_);
  EXPECT_EQ(fuse(), 2);
  EXPECT_EQ(count(plan_.entry, Op::kLoad), 1);
  EXPECT_EQ(count(plan_.entry, Op::kStore), 1);
}

TEST_F(Fuse, NestsThatNeedOtherRowsOrElementsStay) {
  columns(y_, x_);
  columns(z_, y_, 1);
  EXPECT_EQ(fuse(), 4);
}
TEST_F(Fuse, SoDoLoopsThatNeedOtherElements) {
  columns(y_, x_);
  elements(z_, y_, 1);
  EXPECT_EQ(fuse(), 3);
}

// The second needs rows that later turns of the first make.
TEST_F(Fuse, RowsOfOtherTurnsKeepLoopsApart) {
  rows(y_, x_);
  rows(z_, y_, 1);
  EXPECT_EQ(fuse(), 2);
}

// The second writes over what later turns of the first read.
TEST_F(Fuse, SoDoesMemoryThatIsTaken) {
  rows(y_, x_, 1);
  rows(z_, y_);
  EXPECT_EQ(fuse({{0, 2}}), 2);
}
TEST_F(Fuse, MemoryThatIsTakenRowByRowDoesNot) {
  rows(y_, x_);
  rows(z_, y_);
  EXPECT_EQ(fuse({{0, 2}}), 1);
}

TEST_F(Fuse, SoDoesAWriteBetween) {
  rows(y_, x_);
  b_.store(y_, b_.index(3), b_.load(x_, kScalar, b_.index(5)));
  heads(z_, y_);
  EXPECT_EQ(fuse(), 2);
}

TEST_F(Fuse, LoopsThatShareNothingStayTwo) {
  rows(y_, x_);
  rows(z_, x_);
  EXPECT_EQ(fuse(), 2);
}

// As of a concatenation of columns: memory is written in order.
TEST_F(Fuse, PartsOfTheSameRowsAreOneLoopOverRows) {
  const BufferId w = array(BufferInfo::Kind::kArgument);
  part(z_, x_, 0);
  part(z_, w, 8);
  part(z_, x_, 4);  // over both
  EXPECT_EQ(fuse(), 4) << "one over the rows, and three over columns";
  EXPECT_EQ(plan_.at(plan_.entry).nodes.size(), 6u) << "the loop and five constants";
}
TEST_F(Fuse, PartsOfOtherRowsStay) {
  part(z_, x_, 0);
  part(z_, x_, 8, 1);  // the next row
  EXPECT_EQ(fuse(), 4);
}
TEST_F(Fuse, PartsThatReachIntoTheNextRowStay) {
  part(z_, x_, 0);
  part(z_, x_, 12);
  EXPECT_EQ(fuse(), 4);
}
TEST_F(Fuse, PartsOfRowsOfOtherWidthsStay) {
  part(z_, x_, 0);
  part(z_, x_, 8, 0, 20);
  EXPECT_EQ(fuse(), 4);
}
// The second part's source is the result's memory, and later turns of the first write it.
TEST_F(Fuse, PartsOfMemoryThatIsTakenStayWhereRowsDiffer) {
  const auto shifted = [&](BufferId to, BufferId from, int64_t ahead) {
    const NodeId i = b_.begin_for_each(b_.index(0), b_.index(kRows), 1).parameters[0];
    const NodeId k = b_.begin_for_each(b_.index(0), b_.index(8), 4).parameters[0];
    const NodeId x = b_.load(from, kPart, b_.add(b_.mul(b_.add(i, ahead), 16), k));
    b_.store(to, b_.add(b_.mul(i, 16), b_.add(k, 8)), x);
    b_.end_for({});
    b_.end_for({});
  };
  part(z_, x_, 0);
  shifted(z_, x_, 0);
  shifted(z_, x_, 1);
  EXPECT_EQ(fuse({{0, 2}}), 5) << "the first two share a loop over rows";
}

// What the first touches lives until the second's last turn.
TEST_F(Fuse, BuffersOfBothLiveAtTheSameTime) {
  const BufferId w = array(), v = array();
  plan_.buffers[w.value].born = 9, plan_.buffers[w.value].last = 20;
  plan_.buffers[v.value].born = 1, plan_.buffers[v.value].last = 3;
  rows(y_, v);
  rows(w, y_);
  b_.copy(z_, w, 64 * kRows);
  EXPECT_EQ(fuse(), 1);
  EXPECT_GE(plan_.buffers[v.value].last, 9);
}

// A store between goes before the first loop, and may not lie where that still reads.
TEST_F(Fuse, BuffersOfTheFirstOutliveWhatIsStoredBetween) {
  const BufferId v = array(), scalar = array();
  plan_.buffers[v.value].born = 1, plan_.buffers[v.value].last = 3;
  plan_.buffers[scalar.value].born = 6, plan_.buffers[scalar.value].last = 20;
  rows(y_, v);
  b_.store(scalar, b_.index(0), b_.load(x_, kScalar, b_.index(0)));
  heads(z_, y_);
  b_.copy(z_, scalar, 4);
  EXPECT_EQ(fuse(), 1);
  EXPECT_GE(plan_.buffers[v.value].last, 6);
}

}  // namespace
}  // namespace heddle::cpu
