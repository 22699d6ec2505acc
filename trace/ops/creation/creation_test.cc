// Constants and ranges against what jax.numpy gives, and at the edges of their dtypes.
#include "heddle/trace/ops/creation/creation.h"

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

TEST(Creation, LinspaceOfIntegersIsRoundedDown) {
  EXPECT_THAT(linspace(0, 10, 5, s32).to_vector<int>(), ElementsAre(0, 2, 5, 7, 10));
  EXPECT_THAT(linspace(-10, 3, 7, s32).to_vector<int>(), ElementsAre(-10, -8, -6, -4, -2, 0, 3));
  EXPECT_THAT(linspace(0, 200, 4, u8).to_vector<int>(), ElementsAre(0, 66, 133, 200));
  EXPECT_THAT(linspace(0, 1LL << 40, 2, s64).to_vector<int64_t>(), ElementsAre(0, 1LL << 40));
  EXPECT_THAT(linspace(2.5, 9, 1, s32).to_vector<int>(), ElementsAre(2));
  EXPECT_THAT(linspace(-1, 1, 5).to_vector<float>(), ElementsAre(-1, -0.5, 0, 0.5, 1));
  EXPECT_EQ(linspace(0, 1, 0, s32).size(), 0);
}

TEST(Creation, ArangesOfOneLengthAreOneProgram) {
  (void)arange(-7, 3);
  (void)arange(-7, 13, 2);
  const int64_t compiles = counters().compiles;
  for (int i = 1; i < 100; ++i) {
    EXPECT_EQ(arange(i, i + 10).to_vector<int>().back(), i + 9);
    (void)arange(i, i + 10 * (i + 1), i + 1);
  }
  EXPECT_LT(counters().compiles - compiles, 5);
  EXPECT_THAT(arange(5, -5, -4).to_vector<int>(), ElementsAre(5, 1, -3));
  EXPECT_THAT(arange(0, 6, 2).to_vector<int>(), ElementsAre(0, 2, 4));
}

TEST(Creation, FullOfATruthIsOfPred) {
  EXPECT_EQ(full({2}, true).shape(), Shape(pred, {2}));
  EXPECT_THAT(full({2}, true).to_vector<bool>(), ElementsAre(true, true));
  EXPECT_EQ(full({2}, true, s32).dtype(), s32);
  EXPECT_EQ(full({2}, 1).dtype(), f32);
  EXPECT_EQ(full_like(ones({2}), false).dtype(), f32);
}

TEST(Creation, FullKeepsTheDtypeOfATensor) {
  EXPECT_EQ(full({2}, scalar(0.1)).dtype(), f64);
  EXPECT_THAT(full({2}, scalar(0.1)).to_vector<double>(), ElementsAre(0.1, 0.1));
  EXPECT_EQ(full({2}, scalar<int>(3)).dtype(), s32);
  EXPECT_EQ(full({2}, scalar(0.1), f16).dtype(), f16);
  EXPECT_EQ(full({2}, 3).dtype(), f32);
}

TEST(Creation, ShapesAreListsOfAnyIntegers) {
  const Shape wanted(f32, {2, 3});
  const std::vector<int> list = {2, 3};
  const std::array<uint8_t, 2> pair = {2, 3};
  const int64_t raw[] = {2, 3};
  EXPECT_EQ(zeros(list).shape(), wanted);
  EXPECT_EQ(ones(pair).shape(), wanted);
  EXPECT_EQ(zeros(raw).shape(), wanted);
  EXPECT_EQ(full(std::span<const int>(list), 1).shape(), wanted);
  EXPECT_EQ(zeros(wanted.dimensions()).shape(), wanted);
  EXPECT_EQ(zeros({wanted.dimensions()}).shape(), wanted);
  EXPECT_EQ(zeros(base::Ints{2, 3}).shape(), wanted);
  EXPECT_EQ(zeros({size_t{2}, int16_t{3}}).shape(), wanted);
  EXPECT_EQ(zeros({}).shape(), Shape(f32, {}));
  EXPECT_EQ(zeros(3, f64).shape(), Shape(f64, {3}));
  EXPECT_EQ(full(2, 3).shape(), Shape(f32, {2}));
  EXPECT_EQ(placeholder(list, f32).shape(), wanted);
  EXPECT_EQ(array(std::vector<float>(6), list).shape(), wanted);
  EXPECT_THAT(iota(s32, 3, 0).to_vector<int>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(error_of([] { zeros(UINT64_MAX); }), HasSubstr("zeros: "));
}

TEST(Creation, AnEmptyShapeInBracesIsNoLine) {
  EXPECT_EQ(array(std::vector<float>(), {0, 3}).shape(), Shape(f32, {0, 3}));
}

TEST(Creation, SizesAreThoseOfAShape) {
  const Shape shape = zeros({2, 3}).shape();
  EXPECT_EQ(reshape(zeros({2, 3}), {shape[1], -1}).shape(), Shape(f32, {3, 2}));
  EXPECT_EQ(shape[-1], 3);
  EXPECT_THROW((void)shape[2], std::out_of_range);
  EXPECT_THROW((void)shape[-3], std::out_of_range);
}

TEST(Creation, EyeRefusesCountsThatWrapped) {
  EXPECT_THAT(error_of([] { eye(2u - 3u); }),
              HasSubstr("eye: rows is 4294967295; it must be 0 or more, and 2147483647 at most"));
  EXPECT_THAT(error_of([] { eye(-1); }), HasSubstr("eye: rows is -1; it must be 0 or more"));
  EXPECT_THAT(error_of([] { eye(2, 2u - 3u); }), HasSubstr("eye: columns is 4294967295; it must"));
}

TEST(Creation, ComplexNumbersGoUpAndDown) {
  using Complex = std::complex<double>;
  using Single = std::complex<float>;
  const Tensor z = array({Single(1, 2), Single(0, -1)});
  EXPECT_EQ(z.dtype(), c64);
  EXPECT_THAT(z.to_vector<Complex>(), ElementsAre(Complex(1, 2), Complex(0, -1)));
  const Tensor i = scalar(Complex(0, 1));
  EXPECT_EQ(i.dtype(), c128);
  EXPECT_EQ((i * i).item<Complex>(), Complex(-1, 0));
  EXPECT_EQ(scalar(2.5).item<Complex>(), Complex(2.5, 0));
  EXPECT_THAT(error_of([&] { static_cast<void>(z.to_vector<float>()); }),
              AllOf(HasSubstr("to_vector: operand is c64[2]; its elements do not fit f32"),
                    HasSubstr("creation_test.cc:")));
}

TEST(Creation, RangesOfIntegersUpToTheirLimits) {
  constexpr int64_t kLeast = INT64_MIN, kMost = INT64_MAX;
  EXPECT_THAT(arange(kLeast, kMost, kMost).to_vector<int64_t>(),
              ElementsAre(kLeast, -1, kMost - 1));
  EXPECT_THAT(arange(kMost, kLeast, kLeast).to_vector<int64_t>(), ElementsAre(kMost, -1));
  EXPECT_EQ(arange(kMost, kLeast, 1).size(), 0);
  EXPECT_THAT(error_of([] { arange(kLeast, kMost); }),
              AllOf(HasSubstr("arange: start is -9223372036854775808"),
                    HasSubstr("fewer than 2^63 values"), HasSubstr("creation_test.cc:")));
  // The step needs 33 bits, the values 32.
  Tensor wide = arange(int64_t{INT32_MIN}, int64_t{INT32_MAX}, int64_t{3'000'000'000});
  EXPECT_EQ(wide.dtype(), s32);
  EXPECT_THAT(wide.to_vector<int>(), ElementsAre(INT32_MIN, 852'516'352));
  EXPECT_THAT(arange(0, 5, int64_t{1} << 40).to_vector<int>(), ElementsAre(0));
}

TEST(Creation, RangesOfFloatsHaveACount) {
  EXPECT_THAT(arange(0.0, 1.0, 0.375).to_vector<float>(), ElementsAre(0, 0.375, 0.75));
  EXPECT_EQ(arange(0.0, -INFINITY, 1.0).size(), 0);
  EXPECT_THAT(error_of([] { arange(0.0, INFINITY, 1.0); }),
              HasSubstr("arange: start is 0, stop inf and step 1; there must be fewer than 2^63"));
  EXPECT_THAT(error_of([] { arange(0.0, NAN, 1.0); }), HasSubstr("arange: start is 0, stop nan"));
  EXPECT_THAT(error_of([] { arange(0.0, 1.0, NAN); }),
              HasSubstr("arange: step is nan; it must be a number other than 0"));
}

// numpy 2 refuses too; in silence they would go around.
TEST(Creation, ArangeRefusesValuesThatTheDtypeDoesNotHold) {
  EXPECT_EQ(arange(256, u8).to_vector<int>().back(), 255);
  EXPECT_EQ(arange(-128, 128, s8).to_vector<int>().back(), 127);
  EXPECT_EQ(arange(0, 0, u8).size(), 0);
  EXPECT_THAT(
      error_of([] { (void)arange(300, u8); }),
      AllOf(HasSubstr("arange: the last value is 299, which no u8 holds; give arange another "
                      "dtype or other bounds"),
            HasSubstr(here())));
  EXPECT_THAT(error_of([] { (void)arange(-1, 3, u32); }),
              HasSubstr("arange: the first value is -1, which no u32 holds"));
}

}  // namespace
}  // namespace heddle
