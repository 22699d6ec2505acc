// fft against the sum that defines it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include "heddle/interpreter/fourier.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using C = std::complex<double>;
using op_testing::evaluate;
using ::testing::HasSubstr;

std::vector<C> random_numbers(size_t count, uint32_t seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<C> out;
  for (size_t i = 0; i < count; ++i) out.emplace_back(uniform(engine), uniform(engine));
  return out;
}

std::vector<C> by_the_sum(const std::vector<C>& x, bool inverse) {
  const size_t n = x.size();
  std::vector<C> out(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < n; ++j) {
      const double turns = static_cast<double>(j * k % n) / static_cast<double>(n);
      out[k] += x[j] * std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * turns);
    }
  }
  return out;
}

double distance(const std::vector<C>& a, const std::vector<C>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// Each sum has n terms of size 1; its own error grows with n.
double tolerance(size_t n) {
  return 4e-16 * static_cast<double>(n + 4) * std::sqrt(static_cast<double>(n + 1));
}

std::vector<size_t> lengths() {
  std::vector<size_t> out = {97, 101, 128, 194, 202, 210, 1000, 1024, 1009};
  for (size_t n = 0; n <= 33; ++n) out.push_back(n);
  return out;
}

TEST(Fourier, IsTheSumOfEveryLength) {
  for (size_t n : lengths()) {
    for (bool inverse : {false, true}) {
      const std::vector<C> x = random_numbers(n);
      std::vector<C> y = x;
      Fourier(n).run(y.data(), inverse);
      EXPECT_LE(distance(y, by_the_sum(x, inverse)), tolerance(n))
          << n << (inverse ? " inverse" : "");
    }
  }
}

Literal array_of(const Shape& shape, const std::vector<C>& values) {
  return Literal::from<C>(shape, values);
}
std::vector<C> values_of(const Literal& literal) {
  const auto values = literal.values<C>();
  return {values.begin(), values.end()};
}
Literal fft(FftType type, const Dims& lengths, const Literal& x, const Shape& result) {
  return evaluate(Opcode::kFft, {x}, FftAttrs{type, lengths}, result);
}

TEST(Fft, TheInverseUndoesIt) {
  const Shape shape(c128, {2, 3, 4, 35});
  const Literal x = array_of(shape, random_numbers(2 * 3 * 4 * 35));
  for (const Dims& dims : {Dims{35}, Dims{4, 35}, Dims{3, 4, 35}}) {
    const Literal back = fft(FftType::kIfft, dims, fft(FftType::kFft, dims, x, shape), shape);
    EXPECT_LE(distance(values_of(back), values_of(x)), 1e-14);
  }
}

TEST(Fft, OverTwoDimensionsIsOneAfterTheOther) {
  const Shape shape(c128, {5, 6});
  const std::vector<C> x = random_numbers(30);
  std::vector<C> expected(30);
  for (size_t row = 0; row < 5; ++row) {
    const std::vector<C> one = by_the_sum(
        {x.begin() + static_cast<int64_t>(row * 6), x.begin() + static_cast<int64_t>(row * 6 + 6)},
        false);
    std::copy(one.begin(), one.end(), expected.begin() + static_cast<int64_t>(row * 6));
  }
  for (size_t column = 0; column < 6; ++column) {
    std::vector<C> one;
    for (size_t row = 0; row < 5; ++row) one.push_back(expected[row * 6 + column]);
    one = by_the_sum(one, false);
    for (size_t row = 0; row < 5; ++row) expected[row * 6 + column] = one[row];
  }
  EXPECT_LE(distance(values_of(fft(FftType::kFft, {5, 6}, array_of(shape, x), shape)), expected),
            1e-14);
}

std::vector<double> real_numbers(size_t count) {
  std::vector<double> out;
  for (C x : random_numbers(count)) out.push_back(x.real());
  return out;
}

TEST(Fft, RealTransformsGiveHalfOfTheComplexOne) {
  for (int64_t n : {1, 2, 3, 8, 9, 97}) {
    const Literal x =
        Literal::from<double>(Shape(f64, {3, n}), real_numbers(static_cast<size_t>(3 * n)));
    const Literal half = fft(FftType::kRfft, {n}, x, Shape(c128, {3, n / 2 + 1}));
    for (int64_t row = 0; row < 3; ++row) {
      std::vector<C> whole;
      for (int64_t i = 0; i < n; ++i) whole.emplace_back(x.to_double(row * n + i));
      whole = by_the_sum(whole, false);
      for (int64_t i = 0; i <= n / 2; ++i) {
        const C got = half.values<C>()[static_cast<size_t>(row * (n / 2 + 1) + i)];
        EXPECT_LE(std::abs(got - whole[static_cast<size_t>(i)]), tolerance(static_cast<size_t>(n)));
      }
    }
  }
}

TEST(Fft, RealTransformsRoundTripInThreeDimensions) {
  for (int64_t n : {7, 8}) {
    const Shape real(f64, {2, 3, 4, n}), half(c128, {2, 3, 4, n / 2 + 1});
    const Literal x = Literal::from<double>(real, real_numbers(static_cast<size_t>(24 * n)));
    const Literal back =
        fft(FftType::kIrfft, {3, 4, n}, fft(FftType::kRfft, {3, 4, n}, x, half), real);
    for (int64_t i = 0; i < x.element_count(); ++i)
      EXPECT_NEAR(back.to_double(i), x.to_double(i), 1e-15 * 20);
  }
}

TEST(Fft, IrfftDoesNotLookAtImaginaryPartsThatMustBeZero) {
  const Literal half = Literal::from<C>(Shape(c128, {3}), {C(6, 5), C(-1, 1), C(2, 7)});
  const Literal clean = Literal::from<C>(Shape(c128, {3}), {C(6), C(-1, 1), C(2)});
  EXPECT_EQ(fft(FftType::kIrfft, {4}, half, Shape(f64, {4})),
            fft(FftType::kIrfft, {4}, clean, Shape(f64, {4})));
}

TEST(Fft, F32IsRoundedOnce) {
  const std::vector<std::complex<float>> x = {{1, 2}, {3, -4}, {0.1f, 0.2f}};
  const Literal got = fft(FftType::kFft, {3},
                          Literal::from<std::complex<float>>(Shape(c64, {3}), x), Shape(c64, {3}));
  const std::vector<C> exact = by_the_sum({x.begin(), x.end()}, false);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(got.values<std::complex<float>>()[i], std::complex<float>(exact[i]));
}

TEST(Fft, NothingGivesNothingAndNothingGivesZeros) {
  const Shape empty(c64, {0, 8});
  EXPECT_EQ(fft(FftType::kFft, {8}, Literal(empty), empty).element_count(), 0);
  const Shape no_length(c64, {3, 0});
  EXPECT_EQ(fft(FftType::kFft, {0}, Literal(no_length), no_length).element_count(), 0);
}

TEST(Fft, RefusesLengthsThatAreNotThoseOfX) {
  const Shape shape(c64, {4});
  const auto result =
      op_testing::try_evaluate(Opcode::kFft, {Literal(shape)}, FftAttrs{FftType::kFft, {8}}, shape);
  EXPECT_THAT(base::message_of(result.status()),
              HasSubstr("x is c64[4] and fft_length {8}; must be the sizes"));
}

}  // namespace
}  // namespace heddle::interpreter
