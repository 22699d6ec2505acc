// Integer arithmetic, bits and shifts against whole numbers of 128 bits that are cut to the width:
// every pair of elements for types of up to 8 bits, extremes and neighbours of powers of two for
// the wider ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using op_testing::evaluate;
using op_testing::integers;
using testing::ElementsAre;
using Whole = __int128;

struct Type {
  DType dtype;
  int bits() const { return static_cast<int>(bit_width(dtype)); }
  Whole size() const { return Whole{1} << bits(); }
  Whole least() const { return is_signed(dtype) ? -size() / 2 : 0; }
  Whole most() const { return least() + size() - 1; }
  Whole wrapped(Whole x) const {
    return ((x % size() - least()) % size() + size()) % size() + least();
  }
  Whole pattern(Whole x) const { return (x % size() + size()) % size(); }  // read as unsigned
};

// Modulo 2^128, which every width divides.
Whole times(Whole x, Whole y) {
  return static_cast<Whole>(static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y));
}

Whole power_of(Whole x, Whole y, Type type) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
  Whole product = 1;
  for (; y > 0; y /= 2, x = type.wrapped(times(x, x))) {
    if (y % 2 == 1) product = type.wrapped(times(product, x));
  }
  return product;
}

// x * 2^-y, rounded down.
Whole halved(Whole x, Whole y) {
  for (; y > 0; --y) x = (x - (x % 2 + 2) % 2) / 2;
  return x;
}

// x * 2^y, cut at each step.
Whole doubled(Whole x, Whole y, Type type) {
  for (; y > 0; --y) x = type.wrapped(2 * x);
  return x;
}

// The 128-bit product does not fit where both factors have 64 bits: schoolbook on halves.
Whole high_half(Whole x, Whole y, Type type) {
  if (type.bits() < 64) return halved(x * y, type.bits());
  const Whole base = Whole{1} << 32;
  const Whole x1 = halved(x, 32), x0 = x - x1 * base, y1 = halved(y, 32), y0 = y - y1 * base;
  const Whole middle = x1 * y0 + halved(x0 * y0, 32);
  const Whole low = middle - halved(middle, 32) * base + x0 * y1;
  return x1 * y1 + halved(middle, 32) + halved(low, 32);
}

struct Function {
  Opcode opcode;
  Whole (*value)(Whole x, Whole y, Type type);
};

const Function kBinary[] = {
    {Opcode::kAdd, [](Whole x, Whole y, Type) { return x + y; }},
    {Opcode::kSubtract, [](Whole x, Whole y, Type) { return x - y; }},
    {Opcode::kMultiply, [](Whole x, Whole y, Type) { return times(x, y); }},
    {Opcode::kDivide, [](Whole x, Whole y, Type) { return y == 0 ? -1 : x / y; }},
    {Opcode::kRemainder, [](Whole x, Whole y, Type) { return y == 0 ? x : x % y; }},
    {Opcode::kPower, power_of},
    {Opcode::kMulhi, high_half},
    {Opcode::kMaximum, [](Whole x, Whole y, Type) { return std::max(x, y); }},
    {Opcode::kMinimum, [](Whole x, Whole y, Type) { return std::min(x, y); }},
    {Opcode::kAnd, [](Whole x, Whole y, Type) { return x & y; }},
    {Opcode::kOr, [](Whole x, Whole y, Type) { return x | y; }},
    {Opcode::kXor, [](Whole x, Whole y, Type) { return x ^ y; }},
    {Opcode::kShiftLeft,
     [](Whole x, Whole y, Type t) { return t.pattern(y) >= t.bits() ? 0 : doubled(x, y, t); }},
    {Opcode::kShiftRightLogical,
     [](Whole x, Whole y, Type t) {
       return t.pattern(y) >= t.bits() ? 0 : halved(t.pattern(x), y);
     }},
    {Opcode::kShiftRightArithmetic,
     [](Whole x, Whole y, Type t) {
       const Whole as_signed =
           2 * t.pattern(x) >= t.size() ? t.pattern(x) - t.size() : t.pattern(x);
       return halved(as_signed, std::min<Whole>(t.pattern(y), t.bits()));
     }},
};

Whole ones_of(Whole pattern) {
  Whole count = 0;
  for (; pattern > 0; pattern /= 2) count += pattern % 2;
  return count;
}

Whole digits_of(Whole pattern) {
  Whole count = 0;
  for (; pattern > 0; pattern /= 2) ++count;
  return count;
}

const Function kUnary[] = {
    {Opcode::kNegate, [](Whole x, Whole, Type) { return -x; }},
    {Opcode::kAbs, [](Whole x, Whole, Type) { return x < 0 ? -x : x; }},
    {Opcode::kSign, [](Whole x, Whole, Type) -> Whole { return (x > 0) - (x < 0); }},
    {Opcode::kNot, [](Whole x, Whole, Type) { return -1 - x; }},
    {Opcode::kPopcnt, [](Whole x, Whole, Type t) { return ones_of(t.pattern(x)); }},
    {Opcode::kClz, [](Whole x, Whole, Type t) { return t.bits() - digits_of(t.pattern(x)); }},
};

std::vector<Whole> elements_of(Type type) {
  std::vector<Whole> out;
  if (type.bits() <= 8) {
    for (Whole x = type.least(); x <= type.most(); ++x) out.push_back(x);
    return out;
  }
  for (Whole x : {type.least(), type.least() + 1, Whole{-7}, Whole{-2}, Whole{-1}, Whole{0},
                  Whole{1}, Whole{3}, Whole{15}, Whole{16}, Whole{31}, Whole{32}, Whole{63},
                  Whole{64}, Whole{1000}, type.most() / 3, type.most() - 1, type.most()}) {
    if (x >= type.least()) out.push_back(x);
  }
  return out;
}

class IntegerOps : public testing::TestWithParam<DType> {};

Literal array_of(Type type, const std::vector<Whole>& values) {
  Literal wide(Shape(s64, {static_cast<int64_t>(values.size())}));
  for (size_t i = 0; i < values.size(); ++i)
    wide.mutable_values<int64_t>()[i] = static_cast<int64_t>(values[i]);
  return evaluate(Opcode::kConvert, {wide}, {}, wide.shape().with_dtype(type.dtype));
}

Whole element(const Literal& literal, size_t i, Type type) {
  return type.wrapped(literal.to_int64(static_cast<int64_t>(i)));
}

TEST_P(IntegerOps, OfTwoOperandsAreWholeNumbersCutToTheWidth) {
  const Type type{GetParam()};
  std::vector<Whole> xs, ys;
  for (Whole x : elements_of(type)) {
    for (Whole y : elements_of(type)) xs.push_back(x), ys.push_back(y);
  }
  for (const Function& function : kBinary) {
    const Literal z = evaluate(function.opcode, {array_of(type, xs), array_of(type, ys)});
    for (size_t i = 0; i < xs.size(); ++i) {
      ASSERT_TRUE(element(z, i, type) == type.wrapped(function.value(xs[i], ys[i], type)))
          << to_string(function.opcode) << " of " << static_cast<int64_t>(xs[i]) << " and "
          << static_cast<int64_t>(ys[i]) << " is " << static_cast<int64_t>(element(z, i, type));
    }
  }
}

TEST_P(IntegerOps, OfOneOperandAreWholeNumbersCutToTheWidth) {
  const Type type{GetParam()};
  const std::vector<Whole> xs = elements_of(type);
  for (const Function& function : kUnary) {
    if (is_unsigned(type.dtype) &&
        (function.opcode == Opcode::kAbs || function.opcode == Opcode::kSign))
      continue;
    const Literal z = evaluate(function.opcode, {array_of(type, xs)});
    for (size_t i = 0; i < xs.size(); ++i) {
      ASSERT_TRUE(element(z, i, type) == type.wrapped(function.value(xs[i], 0, type)))
          << to_string(function.opcode) << " of " << static_cast<int64_t>(xs[i]) << " is "
          << static_cast<int64_t>(element(z, i, type));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, IntegerOps,
                         testing::Values(s1, s2, s4, s8, s16, s32, s64, u1, u2, u4, u8, u16, u32,
                                         u64),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(IntegerOp, DivisionByZeroIsAllOnes) {
  EXPECT_EQ(evaluate(Opcode::kDivide,
                     {Literal::scalar(s32, int64_t{5}), Literal::scalar(s32, int64_t{0})})
                .to_int64(0),
            -1);
  EXPECT_EQ(
      evaluate(Opcode::kDivide, {Literal::scalar(u8, int64_t{5}), Literal::scalar(u8, int64_t{0})})
          .to_int64(0),
      255);
}

TEST(IntegerOp, LeastNumberDividedByMinusOneIsItself) {
  const Literal least = Literal::scalar(s64, INT64_MIN),
                minus_one = Literal::scalar(s64, int64_t{-1});
  EXPECT_EQ(evaluate(Opcode::kDivide, {least, minus_one}).to_int64(0), INT64_MIN);
  EXPECT_EQ(evaluate(Opcode::kRemainder, {least, minus_one}).to_int64(0), 0);
}

TEST(IntegerOp, LeastNumberHasNoAbsoluteValue) {
  EXPECT_EQ(evaluate(Opcode::kAbs, {Literal::scalar(s8, int64_t{-128})}).to_int64(0), -128);
}

TEST(PredOp, TruthTables) {
  const Literal x = Literal::from<bool>(Shape(pred, {4}), {false, false, true, true});
  const Literal y = Literal::from<bool>(Shape(pred, {4}), {false, true, false, true});
  EXPECT_THAT(integers(evaluate(Opcode::kAdd, {x, y})), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(integers(evaluate(Opcode::kMultiply, {x, y})), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(integers(evaluate(Opcode::kMaximum, {x, y})), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(integers(evaluate(Opcode::kMinimum, {x, y})), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(integers(evaluate(Opcode::kAnd, {x, y})), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(integers(evaluate(Opcode::kOr, {x, y})), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(integers(evaluate(Opcode::kXor, {x, y})), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(integers(evaluate(Opcode::kNot, {x})), ElementsAre(1, 1, 0, 0));
}

}  // namespace
}  // namespace heddle::interpreter
