// Against what numpy 2 gives.
#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/polynomials.h"
#include "heddle/numpy/sequences.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

Tensor row(std::vector<double> x) { return array(x); }

TEST(Numbers, AreRoundedToDecimals) {
  EXPECT_THAT(doubles(around(row({1.2345, -2.675, 0.5, 1.5}), 2)),
              ElementsAre(1.23, -2.68, 0.5, 1.5));
  EXPECT_THAT(doubles(around(row({1250, 1350, -149}), -2)), ElementsAre(1200, 1400, -100));
  EXPECT_THAT(doubles(around(row({0.5, 1.5, NAN}))), ElementsAre(0, 2, IsNan()));
  EXPECT_EQ(around(scalar<int>(17), 1).item<int>(), 17);
  EXPECT_EQ(around(scalar<float>(300.2F).astype(f16), 1).item<float>(), 300.25F);
  EXPECT_THAT(error_of([] { around(scalar<int>(17), -1); }), HasSubstr("around: x is s32[]"));
}

TEST(Convolve, OfLongVectorsAsOfShortOnes) {
  const int64_t n = 20011, m = 97;
  const Tensor x = mod(iota(f32, {n}, 0), 7), y = mod(iota(f32, {m}, 0), 5) - 2;
  const std::vector<float> a = x.to_vector<float>(), b = y.to_vector<float>();
  std::vector<float> all(static_cast<size_t>(n + m - 1));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b.size(); ++j) all[i + j] += a[i] * b[j];
  const auto part = [&](int64_t from, int64_t count) {
    return std::vector<float>(all.begin() + from, all.begin() + from + count);
  };
  EXPECT_EQ(convolve(x, y).to_vector<float>(), all);
  EXPECT_EQ(convolve(y, x).to_vector<float>(), all);
  EXPECT_EQ(convolve(x, y, ConvolveMode::kSame).to_vector<float>(), part((m - 1) / 2, n));
  EXPECT_EQ(convolve(x, y, ConvolveMode::kValid).to_vector<float>(), part(m - 1, n - m + 1));
  EXPECT_EQ(correlate(x, flip(y), ConvolveMode::kFull).to_vector<float>(), all);
  EXPECT_EQ(polymul(x, y).to_vector<float>(), all);
  const Tensor whole = convolve(x.astype(s32), y.astype(s32));
  EXPECT_EQ(whole.dtype(), s32);
  EXPECT_EQ(whole.astype(f32).to_vector<float>(), all);
}

TEST(Numbers, InfinitiesAndSteps) {
  Tensor x = row({-INFINITY, -1, 0, 2, INFINITY, NAN});
  EXPECT_THAT(is_posinf(x).to_vector<bool>(), ElementsAre(false, false, false, false, true, false));
  EXPECT_THAT(is_neginf(x).to_vector<bool>(), ElementsAre(true, false, false, false, false, false));
  EXPECT_THAT(doubles(heaviside(x, 0.5)), ElementsAre(0, 0, 0.5, 1, 1, IsNan()));
  EXPECT_THAT(error_of([] { heaviside(ones({2}, s32), 1); }),
              HasSubstr("heaviside: x is s32[2]; it must be of floats"));
}

TEST(Numbers, LogarithmsOfSums) {
  EXPECT_THAT(
      doubles(logaddexp2(row({1, -INFINITY, 1000, INFINITY}), row({2, -INFINITY, 1000, 3}))),
      ElementsAre(DoubleNear(2.584962500721156, 1e-15), -INFINITY, 1001, INFINITY));
}

TEST(Numbers, RemaindersAndExtremes) {
  EXPECT_THAT(doubles(fmod(row({5.5, -5.5}), 2)), ElementsAre(1.5, -1.5));
  EXPECT_THAT(doubles(fmax(row({NAN, 1, 2, NAN}), row({3, NAN, 5, NAN}))),
              ElementsAre(3, 1, 5, IsNan()));
  EXPECT_THAT(doubles(fmin(row({NAN, 1, 2}), row({3, NAN, 5}))), ElementsAre(3, 1, 2));
  DivmodResult d = divmod(array<int>({7, -7}), 3);
  EXPECT_THAT(d.quotient.to_vector<int>(), ElementsAre(2, -3));
  EXPECT_THAT(d.remainder.to_vector<int>(), ElementsAre(1, 2));
}

TEST(Numbers, WholePartsHaveTheSign) {
  ModfResult parts = modf(row({2.5, -2.5, -INFINITY, NAN, -0.0}));
  EXPECT_THAT(doubles(parts.fraction), ElementsAre(0.5, -0.5, 0, IsNan(), 0));
  EXPECT_THAT(doubles(parts.whole), ElementsAre(2, -2, -INFINITY, IsNan(), 0));
  EXPECT_TRUE(std::signbit(doubles(parts.fraction)[2]));
  EXPECT_TRUE(std::signbit(doubles(parts.whole)[4]));
}

// Also below the least normal number, where bits must be shifted up first.
TEST(Numbers, MantissasAndExponents) {
  FrexpResult parts = frexp(row({1, -6.5, 0, 5e-324, INFINITY, NAN, 1.7e308}));
  EXPECT_THAT(doubles(parts.mantissa),
              ElementsAre(0.5, -0.8125, 0, 0.5, INFINITY, IsNan(), DoubleNear(0.9456, 1e-4)));
  EXPECT_THAT(parts.exponent.to_vector<int>(), ElementsAre(1, 3, 0, -1073, 0, 0, 1024));
  FrexpResult narrow = frexp(array<float>({1e-40F, 3e38F}));
  EXPECT_THAT(narrow.exponent.to_vector<int>(), ElementsAre(-132, 128));
  EXPECT_EQ(frexp(scalar<float>(-0.75F).astype(bf16)).mantissa.item<float>(), -0.75F);
  EXPECT_THAT(error_of([] { frexp(ones({2}, s32)); }), HasSubstr("frexp: x is s32"));
}

TEST(Numbers, TimesPowersOfTwo) {
  EXPECT_THAT(
      doubles(ldexp(row({0.75, -1, 1e-300, 3, 5e-324}), array<int>({3, -1074, 2000, 5000, 2097}))),
      ElementsAre(6, -5e-324, std::ldexp(1e-300, 2000), INFINITY, std::ldexp(1, 1023)));
  EXPECT_EQ(ldexp(scalar<float>(1.5F), -149).item<float>(), std::ldexp(1.5F, -149));
  EXPECT_EQ(ldexp(scalar<float>(1.5F).astype(f16), 3).item<float>(), 12);
  EXPECT_THAT(error_of([] { ldexp(ones({2}), 0.5); }), HasSubstr("ldexp: n is f32[]"));
}

TEST(Numbers, Spacing) {
  EXPECT_THAT(doubles(spacing(row({1, -4, 0, INFINITY}))),
              ElementsAre(std::ldexp(1, -52), -std::ldexp(1, -50), 5e-324, IsNan()));
}

TEST(Numbers, ChoicesByConditionAndNumber) {
  Tensor x = arange(6);
  Tensor y = select({x<2, x> 3}, {x, x * 10}, -1);
  EXPECT_THAT(y.to_vector<int>(), ElementsAre(0, 1, -1, -1, 40, 50));
  EXPECT_THAT(choose(array<int>({2, 0, 1, 7, -3}), {x[0], x[1], x[2]}).to_vector<int>(),
              ElementsAre(2, 0, 1, 2, 0));
  EXPECT_THAT(error_of([&] { select({x < 2}, {}); }),
              HasSubstr("select: has 1 conditions and 0 choices; give as many of both"));
  EXPECT_THAT(error_of([&] { choose(1.5, {x}); }), HasSubstr("choose: which is f32[]"));
}

TEST(Numbers, EqualArrays) {
  EXPECT_TRUE(array_equal(row({1, 2}), row({1, 2})).item<bool>());
  EXPECT_FALSE(array_equal(row({1, 2}), row({1})).item<bool>());
  EXPECT_FALSE(array_equal(row({1, NAN}), row({1, NAN})).item<bool>());
  EXPECT_TRUE(array_equal(row({1, NAN}), row({1, NAN}), true).item<bool>());
  EXPECT_TRUE(array_equal(zeros({0}), zeros({0})).item<bool>());
}

TEST(Numbers, BitsInBytes) {
  EXPECT_THAT(packbits(array<int>({1, 0, 1, 1, 0, 0, 0, 0, 1, 1})).to_vector<int>(),
              ElementsAre(176, 192));
  EXPECT_THAT(packbits(array<int>({{1, 0}, {0, 1}, {1, 1}}), 0).to_vector<int>(),
              ElementsAre(160, 96));
  EXPECT_THAT(unpackbits(array<uint8_t>({5, 130})).to_vector<int>(),
              ElementsAre(0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0));
  EXPECT_EQ(packbits(zeros({2, 0}, s32), -1).shape(), Shape(u8, {2, 0}));
  EXPECT_THAT(packbits(array<int>({{1, 0}, {0, 1}})).to_vector<int>(), ElementsAre(144));
  EXPECT_THAT(unpackbits(array<uint8_t>({{3}, {128}})).to_vector<int>(),
              ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(error_of([] { packbits(ones({2})); }),
              HasSubstr("packbits: x is f32[2]; it must be of integers or pred"));
  EXPECT_THAT(error_of([] { unpackbits(ones({2}, s32)); }),
              HasSubstr("unpackbits: x is s32[2]; it must be of u8"));
}

}  // namespace
}  // namespace heddle
