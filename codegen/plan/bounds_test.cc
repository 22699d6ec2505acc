#include "heddle/codegen/plan/bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "heddle/codegen/plan/builder.h"

namespace heddle::cpu {
namespace {

constexpr Type kByte = {Scalar::kI8, 1};

// What the op gives for two bytes; nothing for a division by 0 or one that overflows.
std::optional<int64_t> value_of(Op op, int8_t x, int8_t y) {
  const auto ux = static_cast<uint8_t>(x), uy = static_cast<uint8_t>(y);
  const bool divides = op == Op::kSDiv || op == Op::kUDiv || op == Op::kSRem || op == Op::kURem;
  if (divides && (y == 0 || (x == -128 && y == -1))) return {};
  switch (op) {
    case Op::kAdd: return static_cast<int8_t>(ux + uy);
    case Op::kSub: return static_cast<int8_t>(ux - uy);
    case Op::kMul: return static_cast<int8_t>(ux * uy);
    case Op::kSMin: return std::min(x, y);
    case Op::kSMax: return std::max(x, y);
    case Op::kAnd: return static_cast<int8_t>(ux & uy);
    case Op::kSDiv: return x / y;
    case Op::kSRem: return x % y;
    case Op::kUDiv: return static_cast<int8_t>(ux / uy);
    default: return static_cast<int8_t>(ux % uy);
  }
}

class BoundsTest : public ::testing::Test {
 protected:
  NodeId bounded(Bounds bounds) {
    const NodeId id = b_.load(buffer_, kByte, b_.index(loads_++));
    b_.assume(id, bounds);
    return id;
  }
  int64_t loads_ = 0;
  Plan plan_;
  PlanBuilder b_{plan_};
  BufferId buffer_ = b_.buffer({.kind = BufferInfo::Kind::kArgument, .bytes = 1 << 20});
};

// Folding may give another node than the op: its bounds hold all the same.
TEST_F(BoundsTest, HoldEveryValueOfEveryOp) {
  constexpr int64_t kEnds[] = {-128, -127, -3, -1, 0, 1, 2, 7, 100, 127};
  std::vector<Bounds> all;
  for (const int64_t low : kEnds) {
    for (const int64_t high : kEnds) {
      if (low <= high) all.push_back({low, high});
    }
  }
  int64_t checked = 0, tight = 0;
  for (const Op op : {Op::kAdd, Op::kSub, Op::kMul, Op::kSMin, Op::kSMax, Op::kAnd, Op::kSDiv,
                      Op::kUDiv, Op::kSRem, Op::kURem}) {
    for (const Bounds& x : all) {
      for (const Bounds& y : all) {
        const NodeId b = y.low == y.high ? b_.integer(kByte, y.low) : bounded(y);
        const Bounds got = b_.bounds(b_.binary(op, bounded(x), b));
        Bounds seen = {127, -128};
        for (int64_t i = x.low; i <= x.high; i += 1 + (x.high - x.low) / 16) {
          for (int64_t j = y.low; j <= y.high; j += 1 + (y.high - y.low) / 16) {
            const auto value = value_of(op, static_cast<int8_t>(i), static_cast<int8_t>(j));
            if (!value) continue;
            seen = {std::min(seen.low, *value), std::max(seen.high, *value)};
            ++checked;
          }
        }
        if (seen.low > seen.high) continue;
        ASSERT_LE(got.low, seen.low) << to_string(op) << " of " << x.low << ".." << x.high
                                     << " and " << y.low << ".." << y.high;
        ASSERT_GE(got.high, seen.high) << to_string(op) << " of " << x.low << ".." << x.high
                                       << " and " << y.low << ".." << y.high;
        tight += got == seen ? 1 : 0;
      }
    }
  }
  EXPECT_GT(checked, 100'000);
  EXPECT_GT(tight, 8'000);
}

TEST_F(BoundsTest, TestsThatTheyDecideFold) {
  const NodeId x = bounded({0, 9});
  const auto is = [&](Predicate predicate, int64_t y) {
    const NodeId test = b_.compare(predicate, x, b_.integer(kByte, y));
    return b_.is_constant(test) ? std::optional(b_.bits_of(test) != 0) : std::nullopt;
  };
  EXPECT_EQ(is(Predicate::kLt, 0), false);
  EXPECT_EQ(is(Predicate::kLt, 10), true);
  EXPECT_EQ(is(Predicate::kLt, 9), std::nullopt);
  EXPECT_EQ(is(Predicate::kLe, 9), true);
  EXPECT_EQ(is(Predicate::kGt, 9), false);
  EXPECT_EQ(is(Predicate::kGe, 0), true);
  EXPECT_EQ(is(Predicate::kGe, 1), std::nullopt);
  EXPECT_EQ(is(Predicate::kEq, 10), false);
  EXPECT_EQ(is(Predicate::kEq, 9), std::nullopt);
  EXPECT_EQ(is(Predicate::kNe, -1), true);
  EXPECT_EQ(is(Predicate::kULt, 10), true);
  EXPECT_EQ(is(Predicate::kULt, -1), std::nullopt);  // 255
  EXPECT_EQ(b_.binary(Op::kSMax, x, b_.integer(kByte, 0)), x);
  EXPECT_EQ(b_.binary(Op::kSMin, b_.integer(kByte, 9), x), x);
  EXPECT_EQ(b_.binary(Op::kSRem, x, b_.integer(kByte, 10)), x);
  EXPECT_EQ(plan_.at(b_.binary(Op::kSRem, x, b_.integer(kByte, 3))).op, Op::kURem);
}

// An index of u8 is inside a table of 256.
TEST_F(BoundsTest, OfWhatHasNoSign) {
  const NodeId x = b_.cast(Op::kZExtend, Scalar::kI32, bounded({-128, 127}));
  EXPECT_EQ(b_.bounds(x), (Bounds{0, 255}));
  EXPECT_EQ(b_.binary(Op::kSMin, x, b_.integer({Scalar::kI32, 1}, 255)), x);
  EXPECT_NE(b_.binary(Op::kSMin, x, b_.integer({Scalar::kI32, 1}, 254)), x);
}

TEST_F(BoundsTest, OfTheIndexOfALoop) {
  const auto loop = b_.begin_for(b_.index(2), b_.index(10), 4, {});
  EXPECT_EQ(b_.bounds(loop.parameters[0]), (Bounds{2, 6}));
  EXPECT_EQ(b_.bounds(b_.mul(loop.parameters[0], 3)), (Bounds{6, 18}));
  b_.end_for({});
}

// numpy's remainder of what may be below 0 is 0 where the machine's is.
TEST_F(BoundsTest, ARemainderIsZeroWithoutItsSign) {
  const NodeId x = bounded({-128, 127}), zero = b_.integer(kByte, 0);
  for (const int64_t n : {3, -3}) {
    const NodeId by = b_.integer(kByte, n);
    const NodeId rest = b_.binary(Op::kSRem, x, by);
    const NodeId is_below = b_.compare(n < 0 ? Predicate::kGt : Predicate::kLt, rest, zero);
    const NodeId moves = b_.binary(Op::kAnd, is_below, b_.compare(Predicate::kNe, rest, zero));
    const NodeId remainder = b_.select(moves, b_.add(rest, by), rest);
    EXPECT_EQ(b_.compare(Predicate::kEq, remainder, zero), b_.compare(Predicate::kEq, rest, zero));
    // Without the test of 0 a rest of 0 would become n.
    const NodeId other = b_.select(is_below, b_.add(rest, by), rest);
    EXPECT_NE(b_.compare(Predicate::kEq, other, zero), b_.compare(Predicate::kEq, rest, zero));
  }
}

}  // namespace
}  // namespace heddle::cpu
