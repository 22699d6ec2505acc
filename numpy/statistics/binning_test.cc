// Bins, interpolation, sets and running functions against results of numpy 2 and jax.numpy 0.10.
#include "heddle/numpy/statistics/binning.h"

#include <cmath>
#include <complex>
#include <limits>

#include "heddle/base/support_test.h"
#include "heddle/numpy/manipulation.h"
#include "heddle/numpy/math.h"
#include "heddle/numpy/searching.h"
#include "heddle/numpy/sequences.h"
#include "heddle/numpy/statistics/nan_statistics.h"
#include "heddle/scan/associative.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/ops/contraction/contractions.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/run/program.h"
#include "heddle/trace/run/program_lines_test.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

Tensor row(std::vector<double> x) { return array(x); }
Tensor edges() { return row({0, 1, 2.5, 4}); }
auto near(double x) { return DoubleNear(x, 1e-14); }

TEST(Binning, BinsOfAscendingAndDescendingEdges) {
  Tensor x = row({0.2, 6.4, 3, 1.6, 1, 4, -1, NAN}), down = flip(edges());
  EXPECT_THAT(ints(digitize(x, edges())), ElementsAre(1, 4, 3, 2, 2, 4, 0, 4));
  EXPECT_THAT(ints(digitize(x, edges(), true)), ElementsAre(1, 4, 3, 2, 1, 3, 0, 4));
  EXPECT_THAT(ints(digitize(x, down)), ElementsAre(3, 0, 1, 2, 2, 0, 4, 0));
  EXPECT_THAT(ints(digitize(x, down, true)), ElementsAre(3, 0, 1, 2, 3, 1, 4, 0));
  EXPECT_EQ(digitize(2.0, edges()).item<int>(), 2);
  EXPECT_THAT(ints(digitize(row({1, 2}), zeros({0}, f64))), ElementsAre(0, 0));
  EXPECT_THAT(error_of([] {
                digitize(1.0, ones({2, 2}));
              }),
              HasSubstr("digitize: edges is f32[2,2]; it must be a vector"));
}

TEST(Binning, HistogramsOfEdges) {
  Tensor x = row({0.2, 6.4, 3, 1.6, 1, 4, -1});
  EXPECT_THAT(ints(histogram_at(x, edges())), ElementsAre(1, 2, 2));
  EXPECT_THAT(doubles(histogram_at(x, edges(), row({0, 1, 2, 3, 4, 5, 6}))), ElementsAre(0, 7, 7));
  EXPECT_THAT(ints(histogram_at(row({NAN}), edges())), ElementsAre(0, 0, 0));
  EXPECT_THAT(ints(histogram_at(array<int>({1, 2, 2}), array<int>({1, 2, 3}))), ElementsAre(1, 2));
  Tensor counts =
      histogram2d_at(row({0.5, 1, 3, 4, 9}), row({0.5, 2.5, 0, 1, 1}), edges(), row({0, 1, 2}));
  EXPECT_THAT(ints(counts), ElementsAre(1, 0, 0, 0, 1, 1));
  EXPECT_THAT(error_of([&] { histogram_at(x, row({1})); }),
              HasSubstr("histogram_at: edges is f64[1]; it must be a vector of 2 elements"));
  EXPECT_THAT(error_of([&] { histogram_at(x, edges(), row({1})); }),
              HasSubstr("histogram_at: weights are f64[1]; x is f64[7]"));
}

TEST(Binning, EdgesFromLeastToGreatest) {
  EXPECT_THAT(doubles(histogram_bin_edges(row({1, 3, 2}), 4)), ElementsAre(1, 1.5, 2, 2.5, 3));
  EXPECT_THAT(doubles(histogram_bin_edges(row({2, 2}), 2)), ElementsAre(1.5, 2, 2.5));
  EXPECT_THAT(ints(histogram(row({1, 3, 2, 2.6, -1}), 4)), ElementsAre(1, 0, 1, 3));
  EXPECT_THAT(ints(histogram(array({1, 5, 5, 9}), 2)), ElementsAre(1, 3));
  EXPECT_EQ(histogram(ones({4})).size(), 10);
  EXPECT_THAT(ints(histogram(array({1, 5, 5, 9}), 2, 0, 6)), ElementsAre(1, 2));
  EXPECT_THAT(error_of([] { histogram(zeros({0})); }),
              HasSubstr("histogram: x is f32[0], bins 10"));
  EXPECT_THAT(error_of([] { histogram_bin_edges(zeros({0})); }),
              HasSubstr("histogram_bin_edges: x is f32[0], bins 10"));
}

TEST(Binning, InterpolatesBetweenPoints) {
  Tensor xp = row({1, 2, 4}), fp = row({10, 20, 0});
  EXPECT_THAT(doubles(interp(row({0, 1, 1.5, 2, 3, 4, 5, NAN}), xp, fp)),
              ElementsAre(10, 10, 15, 20, 10, 0, 0, IsNan()));
  EXPECT_THAT(doubles(interp(row({0, 5}), xp, fp, {.left = -1, .right = -2})), ElementsAre(-1, -2));
  EXPECT_THAT(
      doubles(interp(row({-1, 0, 0.5, 5, 6}), row({4, 1, 2}), row({0, 10, 20}), {.period = 5})),
      ElementsAre(0, 5, 7.5, 5, 10));
  EXPECT_EQ(interp(7.0, row({1}), row({3})).item<double>(), 3);
  EXPECT_THAT(error_of([&] { interp(row({0}), xp, row({1})); }),
              HasSubstr("interp: x is f64[1], xp f64[3] and fp f64[1]"));
}

TEST(Sets, Membership) {
  EXPECT_THAT(isin(array<int>({{1, 5}, {2, 9}}), array<int>({9, 1, 1})).to_vector<bool>(),
              ElementsAre(true, false, false, true));
  EXPECT_THAT(isin(row({NAN, 1}), row({NAN})).to_vector<bool>(), ElementsAre(false, false));
  EXPECT_FALSE(isin(3, zeros({0}, s32)).item<bool>());
  EXPECT_THAT(error_of([] { isin(ones({1}), ones({1}, s32)); }),
              HasSubstr("isin: operands are f32[1] and s32[1]; they must be of one dtype"));
}

TEST(Sets, OfTwoArrays) {
  Tensor a = array<int>({3, 1, 2, 1}), b = array<int>({2, 4, 4});
  EXPECT_THAT(ints(union1d(a, b, 5, -1).values), ElementsAre(1, 2, 3, 4, -1));
  EXPECT_EQ(union1d(a, b, 2).number.item<int>(), 4);
  EXPECT_THAT(ints(union1d(a, b, 2).values), ElementsAre(1, 2));
  EXPECT_THAT(ints(intersect1d(a, b, 2).values), ElementsAre(2, 0));
  EXPECT_THAT(ints(setdiff1d(a, b, 3, 9).values), ElementsAre(1, 3, 9));
  EXPECT_EQ(setdiff1d(b, a, 1).number.item<int>(), 1);
  EXPECT_THAT(ints(setxor1d(a, b, 3).values), ElementsAre(1, 3, 4));
  EXPECT_THAT(ints(union1d(zeros({0}, s32), zeros({0}, s32), 1, 7).values), ElementsAre(7));
  EXPECT_THAT(ints(intersect1d(a, zeros({0}, s32), 1, 7).values), ElementsAre(7));
  EXPECT_THAT(error_of([&] { union1d(a, b, -1); }),
              HasSubstr("union1d: size is -1; it must be 0 or more"));
}

TEST(Running, SumsWithoutNan) {
  EXPECT_THAT(doubles(nan_cumsum(row({1, NAN, 2}))), ElementsAre(1, 1, 3));
  EXPECT_THAT(doubles(nan_cumprod(array<double>({1, NAN, 2, 3}, {2, 2}), -1)),
              ElementsAre(1, 1, 2, 6));
}

TEST(Running, AnglesWithoutJumps) {
  EXPECT_THAT(doubles(unwrap(row({0, 1, 2, -3, -2, -1}))),
              ElementsAre(0, 1, 2, near(3.2831853071795862), near(4.283185307179586),
                          near(5.283185307179586)));
  EXPECT_THAT(doubles(unwrap(array<double>({0, 3, 1, 1, 2, 0}, {2, 3}), {.axis = 1, .period = 4})),
              ElementsAre(0, -1, -3, 1, 2, 0));
  EXPECT_THAT(doubles(unwrap(row({0, 2, 4, 1}), {.period = 4})), ElementsAre(0, 2, 4, 5));
  EXPECT_THAT(doubles(unwrap(row({0, 2.5, 5}), {.period = 4, .jump = 3})), ElementsAre(0, 2.5, 5));
  EXPECT_EQ(unwrap(zeros({0})).size(), 0);
  EXPECT_THAT(error_of([] { unwrap(ones({2}), {.period = 0}); }),
              HasSubstr("unwrap: period is 0; it must be above 0"));
}

TEST(Running, DivisorsAndMultiples) {
  Tensor x = array<int>({12, -18, 0, 7}), y = array<int>({18, 12, 0, 0});
  EXPECT_THAT(ints(gcd(x, y)), ElementsAre(6, 6, 0, 7));
  EXPECT_THAT(ints(lcm(array<int>({4, -6, 0}), array<int>({6, 4, 5}))), ElementsAre(12, 12, 0));
  EXPECT_THAT(ints(gcd(array<uint8_t>({250, 48}), 36)), ElementsAre(2, 12));
  EXPECT_EQ(gcd(int64_t{1} << 40, scalar<int64_t>(int64_t{3} << 38)).item<int64_t>(),
            int64_t{1} << 38);
  constexpr int kLeast = std::numeric_limits<int>::min();
  EXPECT_THAT(ints(gcd(array<int>({kLeast, kLeast, 6}), array<int>({2147483647, 12345, kLeast}))),
              ElementsAre(1, 1, 2));
  EXPECT_THAT(error_of([] { gcd(ones({2}), 2); }),
              HasSubstr("gcd: operands are f32[2]; they must be of integers"));
}

TEST(Running, EachRepeatedByItsCount) {
  Tensor x = array<int>({5, 6, 7}), counts = array<int>({2, 0, 3});
  EXPECT_THAT(ints(repeat_each(x, counts, 7)), ElementsAre(5, 5, 7, 7, 7, 7, 7));
  EXPECT_THAT(ints(repeat_each(x, counts, 3)), ElementsAre(5, 5, 7));
  EXPECT_THAT(ints(repeat_each(x, array<int>({2, 0, 1}), 5)), ElementsAre(5, 5, 7, 7, 7));
  Tensor grid = reshape(arange(6), {2, 3});
  EXPECT_THAT(ints(repeat_each(grid, array<uint8_t>({1, 0, 1}), 2, 1)), ElementsAre(0, 2, 3, 5));
  EXPECT_EQ(repeat_each(zeros({0}), zeros({0}, s32), 0).shape(), Shape(f32, {0}));
  EXPECT_THAT(error_of([&] { repeat_each(x, counts, 3, -2); }),
              HasSubstr("repeat_each: axis is -2; s32[3] has axes -1 .. 0"));
  EXPECT_THAT(error_of([&] { repeat_each(grid, counts, 3); }),
              HasSubstr("repeat_each: counts are s32[3]; axis 0 of x, s32[2,3], has size 2"));
}

// 20,000 counts once made two arrays of 400 million elements.
TEST(Running, ManyCountsAreAddedUpOnce) {
  const Tensor x = arange(20000), counts = (x % 2).astype(s32);
  EXPECT_THAT(ints(repeat_each(x, counts, 4)), ElementsAre(1, 3, 5, 7));
}

// Errors in the user's functions name what those called, and the loop's line too.
TEST(Running, ErrorsInTheUsersFunctionsNameWhatTheyCalled) {
  const Tensor x = ones({2, 3});
  // clang-format off
  const auto squared = [](const Tensor&, Tensor c) { return matmul(c, c); };
  EXPECT_THAT(error_of([&] { fori_loop(0, 3, squared, x); }), testing::StartsWith("matmul: "));
  // clang-format on
  EXPECT_THAT(error_of([&] { trace([](Tensor c) { return nan_cumsum(c, 5); }, x); }),
              testing::StartsWith("nan_cumsum: axis is 5"));
}

TEST(Running, IntegersHaveNoNan) {
  EXPECT_THAT(ints(nan_cumsum(array<int>({1, 2}))), ElementsAre(1, 3));
  EXPECT_THAT(ints(nan_cumprod(array<int>({2, 3}))), ElementsAre(2, 6));
  EXPECT_THAT(error_of([] {
                cumlogsumexp(array<int>({1, 2}));
              }),
              testing::StartsWith("cumlogsumexp: x is s32[2]; it must be of floats"));
  EXPECT_THAT(error_of([] { nan_cumsum(ones({2}), 3); }),
              testing::StartsWith("nan_cumsum: axis is 3"));
}

TEST(Binning, EdgesAsFarApartAsThereAre) {
  EXPECT_THAT(doubles(histogram_bin_edges(row({-1.7e308, 1.7e308}), 2)),
              ElementsAre(-1.7e308, 0, 1.7e308));
  EXPECT_THAT(error_of([] { histogram_at(ones({2}), arange(3)); }),
              testing::StartsWith("histogram_at: "));
  EXPECT_THAT(error_of([] { digitize(ones({2}), arange(3)); }),
              testing::StartsWith("digitize: x is f32[2]; it must be of s32"));
}

TEST(Sets, NothingHoldsNoNan) {
  const Tensor found = isin(array<float>({NAN, 1}), zeros({0}));
  EXPECT_FALSE(any(found).item<bool>());
}

// A quotient of complex numbers would have NaN parts here.
TEST(ComplexLogarithms, OfZerosAndInfinitiesHaveNoNan) {
  using Complex = std::complex<float>;
  for (const auto& log : {log2, log10}) {
    const auto zero = log(scalar(Complex(0, 0))).item<Complex>();
    EXPECT_EQ(zero.real(), -INFINITY);
    EXPECT_EQ(zero.imag(), 0);
    const auto far = log(scalar(Complex(0, INFINITY))).item<Complex>();
    EXPECT_EQ(far.real(), INFINITY);
    EXPECT_GT(far.imag(), 0);
  }
}

TEST(EdgesOfZeros, AreOfTheElementsType) {
  const auto edges = [](const Tensor& x) { return pad(x, {{.low = 1, .high = 1}}); };
  EXPECT_THAT(edges(array<bool>({true})).to_vector<bool>(), ElementsAre(false, true, false));
  EXPECT_THAT(edges(array<int>({7})).to_vector<int>(), ElementsAre(0, 7, 0));
  EXPECT_EQ(edges(ones({1}, c64)).shape(), Shape(c64, {3}));
}

TEST(Sets, NumbersTakeTheOtherDtype) {
  EXPECT_THAT(ints(isin(row({1, 3}), 3)), ElementsAre(0, 1));
  EXPECT_THAT(ints(isin(array<float>({1, 3}), 3.0)), ElementsAre(0, 1));
  EXPECT_TRUE(isin(3, row({1, 3})).item<bool>());
  const std::string text = "fill is f32[]; it must be of s32 as the others, cast them with";
  EXPECT_THAT(error_of([] { union1d(arange(2), arange(2), 3, scalar<float>(2.5f)); }),
              HasSubstr("union1d: " + text));
  const Tensor half = scalar<float>(2.5f);
  EXPECT_THAT(error_of([&] { unique(arange(2), 3, half); }), HasSubstr("unique: " + text));
}

TEST(Running, PredIsCounted) {
  const Tensor x = array<bool>({true, true, false, true});
  EXPECT_EQ(cumsum(x).dtype(), s32);
  EXPECT_THAT(ints(cumsum(x)), ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(ints(cumsum(x, 0, true)), ElementsAre(3, 2, 1, 1));
  EXPECT_THAT(ints(cumprod(x)), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(ints(nan_cumsum(x)), ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(error_of([&] { cummax(x); }), HasSubstr("cummax: x is pred[4]; it must be of"));
}

TEST(Binning, ProgramsHaveTheLineOfTheUser) {
  const Program program = trace(
      [](Tensor x, Tensor i) {
        return std::vector<Tensor>{histogram_at(x, x),
                                   cumsum(x),
                                   cumsum(x, 0, true),
                                   cumlogsumexp(x),
                                   cumlogsumexp(x, 0, true),
                                   unwrap(x),
                                   unique(x, 3).values,
                                   union1d(x, x, 3).values,
                                   isin(x, x),
                                   interp(x, x, x, {.period = 3}),
                                   repeat_each(x, i, 9),
                                   nan_cumsum(x),
                                   digitize(x, x)};
      },
      placeholder({40}, f32), placeholder({40}, s32));
  EXPECT_THAT(lines_outside("binning_test.cc", program), testing::IsEmpty());
}

}  // namespace
}  // namespace heddle
