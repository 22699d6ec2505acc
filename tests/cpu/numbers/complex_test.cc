// Functions of complex numbers beside the evaluator's: at all pairs of special parts, and at random
// parts of many sizes and near the unit circle.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>

#include "heddle/base/text/strings.h"
#include "heddle/hlo/text.h"
#include "heddle/interpreter/evaluate.h"
#include "heddle/tests/cpu/support.h"

namespace heddle::cpu {
namespace {

template <class T>
using Numbers = std::vector<std::complex<T>>;

template <class T>
Numbers<T> specials() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> parts;
  for (const T x : {T{0}, Limits::min(), T{1e-20}, T{0.25}, T{1}, T{3}, T{50},
                    std::sqrt(Limits::max()), Limits::max() / 2, Limits::infinity()}) {
    parts.push_back(x);
    parts.push_back(-x);
  }
  parts.push_back(Limits::quiet_NaN());
  Numbers<T> out;
  for (const T re : parts) {
    for (const T im : parts) out.push_back({re, im});
  }
  return out;
}

template <class T>
Numbers<T> randoms(uint32_t seed) {
  std::mt19937 bits(seed);
  const auto from = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(bits);
  };
  Numbers<T> out;
  for (int i = 0; i < 600; ++i) {
    const double reach = i % 3 == 0 ? 30 : i % 3 == 1 ? 1 : 0;
    const double angle = from(-M_PI, M_PI), size = std::pow(10, from(-reach, reach));
    out.push_back({static_cast<T>(size * std::cos(angle)), static_cast<T>(size * std::sin(angle))});
  }
  return out;
}

template <class T>
Literal literal_of(const Numbers<T>& numbers) {
  const Shape shape(sizeof(T) == 4 ? c64 : c128, {static_cast<int64_t>(numbers.size())});
  return Literal::from<std::complex<T>>(shape, std::span(numbers));
}

// Parts that are no number or infinite must be the same; others may be apart by a share of the
// size of the result, and where that is subnormal by its last bits.
template <class T>
bool is_near(std::complex<T> got, std::complex<T> want, double share) {
  const auto same_kind = [](T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return !std::isinf(a) && !std::isinf(b) ? true : a == b;
  };
  if (!same_kind(got.real(), want.real()) || !same_kind(got.imag(), want.imag())) return false;
  if (!std::isfinite(want.real()) || !std::isfinite(want.imag())) return true;
  const std::complex<long double> g(got), w(want);
  return std::abs(g - w) <= share * std::abs(w) + 4 * std::numeric_limits<T>::denorm_min();
}

struct Function {
  std::string name;
  double ulps;  // of the size of the result
  int operands = 1;
  bool is_real = false;
  bool takes_real = false;  // the last operand's real part, as a complex number
};

template <class T>
void expect_near(const Function& f, const std::vector<Numbers<T>>& operands) {
  const std::string complex = sizeof(T) == 4 ? "c64" : "c128",
                    real = sizeof(T) == 4 ? "f32" : "f64";
  const std::string sizes = base::cat("[", operands[0].size(), "]");
  std::string text = "HloModule m\nENTRY e {\n", names;
  std::vector<Literal> arguments;
  for (int i = 0; i < f.operands; ++i) {
    text += base::cat("  x", i, " = ", complex, sizes, " parameter(", i, ")\n");
    names += base::cat(i == 0 ? "x" : ", x", i);
    arguments.push_back(literal_of(operands[static_cast<size_t>(i)]));
  }
  if (f.takes_real) {
    text += base::cat("  r = ", real, sizes, " real(x1)\n  d = ", complex, sizes, " convert(r)\n");
    names = "x0, d";
  }
  text += base::cat("  ROOT y = ", f.is_real ? real : complex, sizes, " ", f.name, "(", names,
                    ")\n}\n");
  const hlo::Module module = hlo::parse_text(text).value();
  const Literal want = interpreter::evaluate(module, arguments).value();
  const Literal got = OnCpu(module).run(arguments);
  const double share = f.ulps * std::numeric_limits<T>::epsilon();
  const auto at = [&](const Literal& y, size_t i) {
    return f.is_real ? std::complex<T>(y.values<T>()[i]) : y.values<std::complex<T>>()[i];
  };
  // The angle of a large power has no digits. A part of a divisor that is 2^1000 times smaller than
  // the other is as 0 below an infinite dividend.
  const auto is_left_out = [&](size_t i) {
    if (f.name == "power" && sizeof(T) == 4) return std::abs(operands[1][i]) > 1e4;
    if (f.name != "divide" || sizeof(T) == 4 || !std::isinf(std::abs(operands[0][i]))) return false;
    const T a = std::abs(operands[1][i].real()), b = std::abs(operands[1][i].imag());
    return std::min(a, b) > 0 && std::log2(std::max(a, b)) - std::log2(std::min(a, b)) > 1000;
  };
  int shown = 0;
  for (size_t i = 0; i < operands[0].size() && shown < 10; ++i) {
    if (is_left_out(i) || is_near(at(got, i), at(want, i), share)) continue;
    ++shown;
    ADD_FAILURE() << f.name << " of " << complex << " " << operands[0][i]
                  << (f.operands == 2 ? operands[1][i] : 0) << " is " << at(got, i) << ", want "
                  << at(want, i);
  }
}

template <class T>
void expect_all(const Function& f) {
  const Numbers<T> all = specials<T>();
  if (f.operands == 1) {
    expect_near<T>(f, {all});
  } else {
    for (size_t turn = 0; turn < all.size(); turn += 7) {
      Numbers<T> other;
      for (size_t i = 0; i < all.size(); ++i) other.push_back(all[(i + turn) % all.size()]);
      expect_near<T>(f, {all, other});
    }
  }
  expect_near<T>(f, {randoms<T>(1), randoms<T>(2)});
}

class CpuComplex : public ::testing::TestWithParam<Function> {};

TEST_P(CpuComplex, IsAsEvaluated) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  expect_all<float>(GetParam());
  expect_all<double>(GetParam());
}

// cosh is infinite there.
TEST(ImaginaryAxis, TheZeroOfSineOnTheImaginaryAxisStays) {
  const hlo::Module module =
      hlo::parse_text(
          "HloModule m\nENTRY e {\n  z = c64[2] parameter(0)\n  s = c64[2] sine(z)\n"
          "  c = c64[2] cosine(z)\n  ROOT y = c64[4] concatenate(s, c), "
          "dimensions={0}\n}\n")
          .value();
  const Literal z = literal_of(Numbers<float>{{0, 100}, {-0.0F, -100}});
  for (const Literal& y : {interpreter::evaluate(module, {z}).value(), OnCpu(module).run({z})}) {
    const auto values = y.values<std::complex<float>>();
    EXPECT_EQ(values[0], std::complex<float>(0, INFINITY));
    EXPECT_EQ(values[1], std::complex<float>(0, -INFINITY));
    EXPECT_EQ(values[2], std::complex<float>(INFINITY, 0));
    EXPECT_EQ(values[3], std::complex<float>(INFINITY, 0));
  }
}

// A sum of products has +0 where one of its zeros is positive; a quotient of the parts would not.
TEST(Quotients, ByRealNumbersHaveZerosOfTheSameSign) {
  HEDDLE_NEEDS_CODE_GENERATOR();
  Numbers<float> zeros;
  for (const float re : {0.0F, -0.0F, 3.0F, -1e-30F})
    for (const float im : {0.0F, -0.0F, -5.0F}) zeros.emplace_back(re, im);
  const Literal z = literal_of(zeros);
  for (const char* divisor : {"-1", "2", "1e30", "-1e30", "inf", "-inf"}) {
    const hlo::Module module =
        hlo::parse_text(base::cat("HloModule m\nENTRY e {\n  z = c64[12] parameter(0)\n",
                                  "  r = f32[] constant(", divisor, ")\n  c = c64[] convert(r)\n",
                                  "  d = c64[12] broadcast(c), dimensions={}\n",
                                  "  ROOT y = c64[12] divide(z, d)\n}\n"))
            .value();
    const Literal want = interpreter::evaluate(module, {z}).value(), got = OnCpu(module).run({z});
    for (size_t i = 0; i < zeros.size(); ++i) {
      const auto x = want.values<std::complex<float>>()[i],
                 y = got.values<std::complex<float>>()[i];
      EXPECT_EQ(y, x);
      EXPECT_EQ(std::signbit(y.real()), std::signbit(x.real())) << zeros[i] << " / " << divisor;
      EXPECT_EQ(std::signbit(y.imag()), std::signbit(x.imag())) << zeros[i] << " / " << divisor;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each, CpuComplex,
    ::testing::Values(Function{"abs", 1.2, 1, true}, Function{"exponential", 4},
                      Function{"divide", 4, 2}, Function{"divide", 4, 2, false, true},
                      Function{"sqrt", 3}, Function{"rsqrt", 3}, Function{"log", 2},
                      Function{"sign", 2}, Function{"sine", 3}, Function{"cosine", 3},
                      Function{"logistic", 4}, Function{"exponential-minus-one", 2},
                      Function{"log-plus-one", 2}, Function{"power", 2, 2}, Function{"tan", 4},
                      Function{"tanh", 4}),
    [](const auto& each) {
      std::string name = each.param.name;
      std::erase(name, '-');
      return name + (each.param.takes_real ? "ByReal" : "");
    });

}  // namespace
}  // namespace heddle::cpu
