// Unary elementwise ops against long double, which the definitions of the narrower types do not
// use.
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
  long double (*value)(long double);
};

const Function kFunctions[] = {
    {Opcode::kExp, std::exp},
    {Opcode::kExpm1, std::expm1},
    {Opcode::kLog, std::log},
    {Opcode::kLog1p, std::log1p},
    {Opcode::kLogistic,
     [](long double x) {
       return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
     }},
    {Opcode::kErf, std::erf},
    {Opcode::kSqrt, std::sqrt},
    {Opcode::kRsqrt, [](long double x) { return 1 / std::sqrt(x); }},
    {Opcode::kCbrt, std::cbrt},
    {Opcode::kSin, std::sin},
    {Opcode::kCos, std::cos},
    {Opcode::kTan, std::tan},
    {Opcode::kAsin, std::asin},
    {Opcode::kAcos, std::acos},
    {Opcode::kAtan, std::atan},
    {Opcode::kSinh, std::sinh},
    {Opcode::kCosh, std::cosh},
    {Opcode::kTanh, std::tanh},
    {Opcode::kAsinh, std::asinh},
    {Opcode::kAcosh, std::acosh},
    {Opcode::kAtanh, std::atanh},
    {Opcode::kFloor, std::floor},
    {Opcode::kCeil, std::ceil},
    {Opcode::kRoundAfz, std::round},
    {Opcode::kRoundEven, std::nearbyint},
    {Opcode::kAbs, std::fabs},
    {Opcode::kNegate, [](long double x) { return -x; }},
    {Opcode::kSign, [](long double x) { return x > 0   ? 1.0L
                                               : x < 0 ? -1.0L
                                                       : x; }},
};

std::vector<double> samples() {
  std::vector<double> out = {0.0,  -0.0,  1,    -1,    0.5,     -0.5, 1.5, 2.5,
                             kInf, -kInf, kNaN, 1e-45, -1e-310, 1e38, 700, -720};
  for (int e = -30; e < 7; ++e) {
    for (double m : {1.0, 1.2345678901234567, 1.7654321}) {
      out.push_back(std::ldexp(m, e));
      out.push_back(-std::ldexp(m, e));
    }
  }
  return out;
}

class UnaryFunctions : public testing::TestWithParam<std::tuple<Function, DType>> {};

TEST_P(UnaryFunctions, RoundTheTrueValueOnce) {
  const auto& [function, dtype] = GetParam();
  const Literal x = array(dtype, samples());
  const Literal y = evaluate(function.opcode, {x});
  for (int64_t i = 0; i < x.element_count(); ++i) {
    SCOPED_TRACE(base::cat(to_string(function.opcode), " of ", x.to_double(i)));
    expect_rounded_once(dtype, y.to_double(i), function.value(x.to_double(i)));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, UnaryFunctions,
                         testing::Combine(testing::ValuesIn(kFunctions),
                                          testing::Values(f64, f32, f16, bf16, f8e5m2)),
                         [](const auto& info) {
                           std::string name = base::cat(to_string(std::get<0>(info.param).opcode),
                                                        "_", std::get<1>(info.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(UnaryOp, OfAScalarIsAScalar) {
  const Literal y = evaluate(Opcode::kExp, {Literal::scalar(f32, 0.0)});
  EXPECT_EQ(to_string(y.shape()), "f32[]");
  EXPECT_EQ(y.to_double(0), 1.0);
}

TEST(UnaryOp, OfNoElementsIsNoElements) {
  EXPECT_EQ(to_string(evaluate(Opcode::kTanh, {Literal(Shape(bf16, {3, 0}))}).shape()),
            "bf16[3,0]");
}

TEST(UnaryOp, OfManyBlocksAppliesToEach) {
  const Literal y = evaluate(Opcode::kNegate, {array(s32, std::vector<double>(1000, 7))});
  EXPECT_THAT(integers(y), testing::Each(-7));
}

TEST(UnaryOp, WritesInPlaceWhereNobodyElseHoldsTheOperand) {
  std::vector<Literal> operands;
  operands.push_back(array(f32, {1, 2}));
  const std::byte* bytes = operands[0].bytes();
  EXPECT_EQ(evaluate(Opcode::kNegate, std::move(operands)).bytes(), bytes);
}

TEST(UnaryOp, LeavesASharedOperandAlone) {
  const Literal x = array(f32, {1, 2});
  evaluate(Opcode::kNegate, {x});
  EXPECT_THAT(numbers(x), ElementsAre(1, 2));
}

TEST(IsFinite, IsFalseForNaNAndInfinities) {
  const Literal x = array(f32, {1, kInf, -kInf, kNaN, 0});
  EXPECT_THAT(integers(evaluate(Opcode::kIsFinite, {x})), ElementsAre(1, 0, 0, 0, 1));
}

}  // namespace
}  // namespace heddle::interpreter
