// Binary elementwise ops on floats against long double; shape rules and errors. Integers:
// integer_test.cc. Complex: complex_test.cc.
#include <algorithm>
#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/interpreter/ops/elementwise/rounding_testing.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using namespace op_testing;

struct Function {
  Opcode opcode;
  long double (*value)(long double, long double);
};

const Function kFunctions[] = {
    {Opcode::kAdd, [](long double x, long double y) { return x + y; }},
    {Opcode::kSubtract, [](long double x, long double y) { return x - y; }},
    {Opcode::kMultiply, [](long double x, long double y) { return x * y; }},
    {Opcode::kDivide, [](long double x, long double y) { return x / y; }},
    {Opcode::kRemainder, std::fmod},
    {Opcode::kPower, std::pow},
    {Opcode::kAtan2, std::atan2},
};

class BinaryFunctions : public testing::TestWithParam<std::tuple<Function, DType>> {};

TEST_P(BinaryFunctions, RoundTheTrueValueOnce) {
  const auto& [function, dtype] = GetParam();
  const std::vector<double> samples = {0.0,      -0.0,   1,     -1,           0.5,     -0.5,
                                       2,        3,      -3,    1.2345678901, 0.1,     -0.1,
                                       7,        1e-6,   -2e-6, 1e-45,        -1e-310, 1.75e-38,
                                       12345.67, -50000, 1e30,  kInf,         -kInf,   kNaN};
  std::vector<double> xs, ys;
  for (double x : samples) {
    for (double y : samples) xs.push_back(x), ys.push_back(y);
  }
  const Literal x = array(dtype, xs), y = array(dtype, ys);
  const Literal z = evaluate(function.opcode, {x, y});
  for (int64_t i = 0; i < x.element_count(); ++i) {
    SCOPED_TRACE(
        base::cat(to_string(function.opcode), " of ", x.to_double(i), " and ", y.to_double(i)));
    expect_rounded_once(dtype, z.to_double(i), function.value(x.to_double(i), y.to_double(i)));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, BinaryFunctions,
                         testing::Combine(testing::ValuesIn(kFunctions),
                                          testing::Values(f64, f32, f16, bf16, f8e5m2)),
                         [](const auto& info) {
                           return base::cat(to_string(std::get<0>(info.param).opcode), "_",
                                            std::get<1>(info.param));
                         });

class Extrema : public testing::TestWithParam<DType> {};

TEST_P(Extrema, AreNaNWhereEitherIs) {
  const Literal x = array(GetParam(), {kNaN, 1, kNaN}), y = array(GetParam(), {1, kNaN, kInf});
  for (Opcode opcode : {Opcode::kMaximum, Opcode::kMinimum}) {
    for (double z : numbers(evaluate(opcode, {x, y}))) EXPECT_TRUE(std::isnan(z));
  }
}

TEST_P(Extrema, OrderInfinities) {
  const Literal x = array(GetParam(), {kInf, 1, -kInf}), y = array(GetParam(), {2, -kInf, kInf});
  EXPECT_THAT(numbers(evaluate(Opcode::kMaximum, {x, y})), ElementsAre(kInf, 1, kInf));
  EXPECT_THAT(numbers(evaluate(Opcode::kMinimum, {x, y})), ElementsAre(2, -kInf, -kInf));
}

TEST_P(Extrema, PutMinusZeroBelowZero) {
  const Literal x = array(GetParam(), {0.0, -0.0}), y = array(GetParam(), {-0.0, 0.0});
  for (double z : numbers(evaluate(Opcode::kMaximum, {x, y}))) EXPECT_FALSE(std::signbit(z));
  for (double z : numbers(evaluate(Opcode::kMinimum, {x, y}))) EXPECT_TRUE(std::signbit(z));
}

INSTANTIATE_TEST_SUITE_P(EveryType, Extrema, testing::Values(f16, f32, f64, bf16, f8e5m2),
                         [](const auto& info) { return std::string(to_string(info.param)); });

// 2^24 + 1 needs a bit more than f32 has: the tie goes to even.
TEST(Add, RoundsTiesToEven) {
  EXPECT_EQ(evaluate(Opcode::kAdd, {Literal::scalar(f32, 0x1p24), Literal::scalar(f32, 1.0)})
                .to_double(0),
            0x1p24);
  EXPECT_EQ(evaluate(Opcode::kAdd, {Literal::scalar(f32, 0x1p24), Literal::scalar(f32, 3.0)})
                .to_double(0),
            0x1p24 + 4);
}

TEST(BinaryOp, KeepsSubnormals) {
  const Literal tiny = Literal::scalar(f32, 0x1p-140);
  EXPECT_EQ(evaluate(Opcode::kAdd, {tiny, tiny}).to_double(0), 0x1p-139);
}

TEST(BinaryOp, WritesIntoWhicheverOperandIsFree) {
  const Literal held = array(f32, {1, 2});
  std::vector<Literal> operands = {held};
  operands.push_back(array(f32, {10, 20}));
  const std::byte* bytes = operands[1].bytes();
  const Literal z = evaluate(Opcode::kSubtract, std::move(operands));
  EXPECT_EQ(z.bytes(), bytes);
  EXPECT_THAT(numbers(z), ElementsAre(-9, -18));
}

TEST(BinaryOp, OfOneLiteralTwiceReadsItTwice) {
  const Literal x = array(f32, {3, 4});
  EXPECT_THAT(numbers(evaluate(Opcode::kMultiply, {x, x})), ElementsAre(9, 16));
}

}  // namespace
}  // namespace heddle::interpreter
