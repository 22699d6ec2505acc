// compare, clamp and select.
#include <cmath>
#include <complex>

#include "heddle/base/support_test.h"
#include "heddle/hlo/literal/native.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using namespace op_testing;
using enum ComparisonDirection;

constexpr ComparisonDirection kAllDirections[] = {kEq, kNe, kGe, kGt, kLe, kLt};

// By the sign of the difference; nan is when there is none.
bool holds(ComparisonDirection direction, double x, double y) {
  const bool ordered = !std::isnan(x) && !std::isnan(y);
  const bool less = ordered && std::isless(x, y), more = ordered && std::isless(y, x);
  switch (direction) {
    case kEq: return ordered && !less && !more;
    case kNe: return !ordered || less || more;
    case kGe: return ordered && !less;
    case kGt: return more;
    case kLe: return ordered && !more;
    case kLt: return less;
  }
  return false;
}

class Compare : public testing::TestWithParam<DType> {};

TEST_P(Compare, HoldsWhereTheNumbersDo) {
  std::vector<double> xs, ys;
  for (double x : {0.0, -0.0, 1.0, -1.0, 2.0, 100.0, -100.0, kInf, -kInf, kNaN}) {
    for (double y : {0.0, -0.0, 1.0, -1.0, 2.0, 100.0, -100.0, kInf, -kInf, kNaN})
      xs.push_back(x), ys.push_back(y);
  }
  const Literal x = array(GetParam(), xs), y = array(GetParam(), ys);
  for (ComparisonDirection direction : kAllDirections) {
    const Literal z = evaluate(Opcode::kCompare, {x, y}, CompareAttrs{direction});
    for (int64_t i = 0; i < x.element_count(); ++i) {
      EXPECT_EQ(z.to_int64(i), holds(direction, x.to_double(i), y.to_double(i)))
          << x.to_double(i) << ' ' << enum_text(direction) << ' ' << y.to_double(i);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, Compare,
                         testing::Values(pred, s4, s8, s16, s32, s64, u4, u8, u16, u32, u64, f16,
                                         bf16, f32, f64, f8e5m2, f8e4m3fn),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(Compare, TellsWideIntegersApartThatDoubleDoesNot) {
  const Literal x = Literal::scalar(s64, INT64_MAX), y = Literal::scalar(s64, INT64_MAX - 1);
  EXPECT_EQ(evaluate(Opcode::kCompare, {x, y}, CompareAttrs{kGt}).to_int64(0), 1);
  EXPECT_EQ(evaluate(Opcode::kCompare, {x, y}, CompareAttrs{kEq}).to_int64(0), 0);
}

TEST(Compare, ReadsU64AsUnsigned) {
  const Literal x = Literal::scalar(u64, int64_t{-1}), y = Literal::scalar(u64, int64_t{1});
  EXPECT_EQ(evaluate(Opcode::kCompare, {x, y}, CompareAttrs{kGt}).to_int64(0), 1);
}

TEST(Compare, OfComplexNumbersAsksForBothParts) {
  using C = std::complex<float>;
  const Literal x =
      Literal::from<C>(Shape(c64, {3}), {C(1, 2), C(1, 2), C(1, static_cast<float>(kNaN))});
  const Literal y =
      Literal::from<C>(Shape(c64, {3}), {C(1, 2), C(1, 3), C(1, static_cast<float>(kNaN))});
  EXPECT_THAT(integers(evaluate(Opcode::kCompare, {x, y}, CompareAttrs{kEq})),
              ElementsAre(1, 0, 0));
  EXPECT_THAT(integers(evaluate(Opcode::kCompare, {x, y}, CompareAttrs{kNe})),
              ElementsAre(0, 1, 1));
}

class TotalOrder : public testing::TestWithParam<DType> {};

TEST_P(TotalOrder, GoesFromMinusNaNToNaN) {
  const std::vector<double> ascending = {std::copysign(kNaN, -1), -kInf, -1, -0.0, 0.0, 1, kInf,
                                         std::copysign(kNaN, 1)};
  const Literal low =
      array(GetParam(), std::vector<double>(ascending.begin(), ascending.end() - 1));
  const Literal high =
      array(GetParam(), std::vector<double>(ascending.begin() + 1, ascending.end()));
  for (auto [direction, want] :
       {std::pair(kLt, 1), std::pair(kLe, 1), std::pair(kEq, 0), std::pair(kGt, 0)}) {
    const Literal z = evaluate(Opcode::kCompare, {low, high},
                               CompareAttrs{direction, ComparisonType::kTotalOrder});
    EXPECT_THAT(integers(z), testing::Each(want)) << enum_text(direction);
  }
}

TEST_P(TotalOrder, HoldsEachNumberEqualToItself) {
  const Literal x = array(GetParam(), {kNaN, -0.0, 3, -kInf});
  EXPECT_THAT(
      integers(evaluate(Opcode::kCompare, {x, x}, CompareAttrs{kEq, ComparisonType::kTotalOrder})),
      testing::Each(1));
}

INSTANTIATE_TEST_SUITE_P(EveryType, TotalOrder,
                         testing::Values(f16, bf16, f32, f64, f8e5m2, f8e3m4),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(Clamp, BindsBetweenScalars) {
  const Literal x = array(f32, {-5, 0.5, 5, kInf, -kInf});
  const Literal z =
      evaluate(Opcode::kClamp, {Literal::scalar(f32, -1.0), x, Literal::scalar(f32, 2.0)});
  EXPECT_THAT(numbers(z), ElementsAre(-1, 0.5, 2, 2, -1));
}

TEST(Clamp, BindsElementByElement) {
  const Literal z =
      evaluate(Opcode::kClamp, {array(s8, {0, 0, 5}), array(s8, {-3, 3, 3}), array(s8, {2, 2, 4})});
  EXPECT_THAT(integers(z), ElementsAre(0, 2, 4));  // where the bounds cross, the upper one wins
}

TEST(Clamp, IsNaNWhereAnyOperandIs) {
  const Literal one = Literal::scalar(f64, 1.0), nan = Literal::scalar(f64, kNaN);
  EXPECT_TRUE(std::isnan(evaluate(Opcode::kClamp, {nan, one, one}).to_double(0)));
  EXPECT_TRUE(std::isnan(evaluate(Opcode::kClamp, {one, nan, one}).to_double(0)));
  EXPECT_TRUE(std::isnan(evaluate(Opcode::kClamp, {one, one, nan}).to_double(0)));
}

TEST(Clamp, ReadsU64AsUnsigned) {
  const Literal z =
      evaluate(Opcode::kClamp, {Literal::scalar(u64, int64_t{1}), Literal::scalar(u64, int64_t{-1}),
                                Literal::scalar(u64, int64_t{7})});
  EXPECT_EQ(z.to_int64(0), 7);
}

TEST(Clamp, OfManyBlocksBindsAll) {
  const Literal z = evaluate(
      Opcode::kClamp, {Literal::scalar(s32, int64_t{0}), array(s32, std::vector<double>(1000, 9)),
                       Literal::scalar(s32, int64_t{5})});
  EXPECT_THAT(integers(z), testing::Each(5));
}

// XLA compares the real parts alone.
TEST(Clamp, OfComplexNumbersGoesByTheRealParts) {
  using C = std::complex<double>;
  const Literal z =
      evaluate(Opcode::kClamp, {Literal::from<C>(Shape(c128, {}), {C(1, 2)}),
                                Literal::from<C>(Shape(c128, {6}), {C(0, 9), C(1, 7), C(1.5, 3),
                                                                    C(2, 9), C(3, 0), C(kNaN, 0)}),
                                Literal::from<C>(Shape(c128, {}), {C(2, 4)})});
  EXPECT_THAT(z.values<C>(), ElementsAre(C(1, 2), C(1, 2), C(1.5, 3), C(2, 9), C(2, 4), C(2, 4)));
}

class Select : public testing::TestWithParam<DType> {};

TEST_P(Select, TakesEachElementFromOneSide) {
  const Literal pick = Literal::from<bool>(Shape(pred, {3}), {true, false, true});
  const Literal t = array(GetParam(), {1, 1, 0}), f = array(GetParam(), {0, 0, 1});
  const Literal want = array(GetParam(), {1, 0, 0});
  EXPECT_EQ(evaluate(Opcode::kSelect, {pick, t, f}), want);
}

TEST_P(Select, TakesAllFromOneSideByAScalar) {
  const Literal t = array(GetParam(), {1, 0}), f = array(GetParam(), {0, 1});
  EXPECT_EQ(evaluate(Opcode::kSelect, {Literal::scalar(pred, int64_t{1}), t, f}), t);
  EXPECT_EQ(evaluate(Opcode::kSelect, {Literal::scalar(pred, int64_t{0}), t, f}), f);
}

INSTANTIATE_TEST_SUITE_P(EveryWidth, Select,
                         testing::Values(pred, s4, u8, f16, bf16, f32, s64, c64, c128),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(SelectValue, KeepsPayloadsOfNaN) {
  const Literal x = Literal::from<float>(Shape(f32, {1}), {std::bit_cast<float>(0x7FA00001u)});
  EXPECT_EQ(evaluate(Opcode::kSelect,
                     {Literal::from<bool>(Shape(pred, {1}), {true}), x, array(f32, {0})}),
            x);
}

TEST(SelectValue, OfPredsDoesNotWriteOverItsPred) {
  const Literal pick = Literal::from<bool>(Shape(pred, {2}), {true, false});
  std::vector<Literal> operands = {pick, Literal::from<bool>(Shape(pred, {2}), {false, false})};
  operands.push_back(Literal::from<bool>(Shape(pred, {2}), {true, true}));
  EXPECT_THAT(integers(evaluate(Opcode::kSelect, std::move(operands))), ElementsAre(0, 1));
  EXPECT_THAT(integers(pick), ElementsAre(1, 0));
}

}  // namespace
}  // namespace heddle::interpreter
