// Unary elementwise ops against long double, which the definitions of the narrower types do not use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "heddle/hlo/native.h"
#include "heddle/hlo/ops/op_testing.h"

namespace heddle::hlo {
namespace {

using op_testing::array;
using op_testing::evaluate;
using op_testing::infer;
using op_testing::integers;
using op_testing::kInf;
using op_testing::kNaN;
using op_testing::numbers;
using testing::ElementsAre;

// Distance between x and the next number of the type away from zero.
long double spacing(DType dtype, double x) {
  const double away = std::signbit(x) ? -kInf : kInf;
  if (dtype == f64) return std::nextafter(x, away) - static_cast<long double>(x);
  if (dtype == f32) return std::nextafter(static_cast<float>(x), static_cast<float>(away)) - static_cast<long double>(x);
  const uint16_t bits = encode_small_float(dtype, x);
  return decode_small_float(dtype, static_cast<uint16_t>(bits + 1)) - static_cast<long double>(x);
}

struct Function {
  Opcode opcode;
  long double (*value)(long double);
};

const Function kFunctions[] = {
    {Opcode::kExp, std::exp},
    {Opcode::kExpm1, std::expm1},
    {Opcode::kLog, std::log},
    {Opcode::kLog1p, std::log1p},
    {Opcode::kLogistic, [](long double x) { return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }},
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
    {Opcode::kSign, [](long double x) { return x > 0 ? 1.0L : x < 0 ? -1.0L : x; }},
};

std::vector<double> samples() {
  std::vector<double> out = {0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, kInf, -kInf, kNaN, 1e-45, -1e-310, 1e38, 700, -720};
  for (int e = -30; e < 7; ++e) {
    for (double m : {1.0, 1.2345678901234567, 1.7654321}) {
      out.push_back(std::ldexp(m, e));
      out.push_back(-std::ldexp(m, e));
    }
  }
  return out;
}

class UnaryFunctions : public testing::TestWithParam<std::tuple<Function, DType>> {};

// At most half a unit of the last place from the true value; f64, where libm is trusted, one unit.
TEST_P(UnaryFunctions, RoundTheTrueValueOnce) {
  const auto& [function, dtype] = GetParam();
  const Literal x = array(dtype, samples());
  const Literal y = evaluate(function.opcode, {x});
  for (int64_t i = 0; i < x.element_count(); ++i) {
    const long double want = function.value(x.to_double(i));
    const double got = y.to_double(i);
    SCOPED_TRACE(cat(to_string(function.opcode), " of ", x.to_double(i), " is ", got, ", want ", static_cast<double>(want)));
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got));
    } else if (std::isinf(got) || want == 0) {
      ASSERT_EQ(got, Literal::scalar(dtype, static_cast<double>(want)).to_double(0));
      ASSERT_EQ(std::signbit(got), std::signbit(want));
    } else {
      const long double units = std::fabs(got - want) / spacing(dtype, std::fabs(got));
      ASSERT_LE(units, dtype == f64 ? 1.0L : 0.5001L);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryOp, UnaryFunctions,
                         testing::Combine(testing::ValuesIn(kFunctions), testing::Values(f64, f32, f16, bf16, f8e5m2)),
                         [](const auto& info) {
                           std::string name = cat(to_string(std::get<0>(info.param).opcode), "_", std::get<1>(info.param));
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace heddle::hlo
