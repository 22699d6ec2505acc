// Statistics, matrices and sequences against results of numpy 2, and at the edges.
#include "heddle/numpy/statistics/statistics.h"

#include <cmath>
#include <functional>

#include "heddle/base/metrics/counters.h"
#include "heddle/base/support_test.h"
#include "heddle/numpy/matrices.h"
#include "heddle/numpy/sequences.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/indexing.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

Tensor rows() { return array<double>({3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, {2, 5}); }
auto near(double x) { return DoubleNear(x, 1e-8); }

TEST(Statistics, Averages) {
  EXPECT_THAT(doubles(average(rows(), array<double>({1, 2, 3, 4, 0}), 1)),
              ElementsAre(near(2.1), near(5.1)));
  EXPECT_THAT(average(rows(), rows()).item<double>(), near(5.3076923076923075));
  EXPECT_THAT(error_of([] {
                average(ones({2, 3}), ones({2}), 1);
              }),
              HasSubstr("average: weights are f32[2]; axis 1 of x, f32[2,3], has another size"));
  Tensor x = array<float>({1, NAN, 3});
  EXPECT_EQ(nan_sum(x).item<float>(), 4);
  EXPECT_EQ(nan_mean(x).item<float>(), 2);
  EXPECT_THAT(nan_mean(array<float>({NAN})).item<float>(), IsNan());
  EXPECT_THAT(doubles(ptp(rows(), {.axes = {1}})), ElementsAre(4, 7));
  EXPECT_EQ(count_nonzero(array<double>({0, -0.0, 2, NAN})).item<int>(), 2);
  EXPECT_EQ(count_nonzero(array<bool>({true, false, true})).item<int>(), 2);
}

TEST(Statistics, Covariances) {
  EXPECT_THAT(doubles(cov(rows())), ElementsAre(near(3.2), near(0.75), near(0.75), near(7.5)));
  EXPECT_THAT(doubles(corrcoef(rows())),
              ElementsAre(near(1), near(0.15309311), near(0.15309311), near(1)));
  const Tensor one = array<double>({1, 2, 4, 9});
  EXPECT_EQ(cov(one).shape(), Shape(f64, {}));
  EXPECT_DOUBLE_EQ(cov(one).item<double>(), 38.0 / 3);
  EXPECT_EQ(corrcoef(one).item<double>(), 1);
  EXPECT_THAT(error_of([] {
                cov(zeros({2, 3, 4}));
              }),
              HasSubstr("cov: x is f32[2,3,4]; it must be [variables, n], or [n] of one"));
  EXPECT_THAT(error_of([] { cov(array<int>({1, 2})); }), HasSubstr("cov: x is s32[2]"));
}

// As in numpy, the divisor is never below 0.
TEST(Statistics, CovariancesOfTooFew) {
  EXPECT_THAT(doubles(cov(zeros({2, 0}))), testing::Each(IsNan()));
  EXPECT_THAT(doubles(cov(rows(), 7)), ElementsAre(INFINITY, INFINITY, INFINITY, INFINITY));
}

TEST(Statistics, Counts) {
  Tensor x = array<int>({1, 3, 1, -1, 4, 0});
  EXPECT_THAT(bincount(x, 4).to_vector<int>(), ElementsAre(1, 2, 0, 1));
  EXPECT_EQ(bincount(x, 0).size(), 0);
  Tensor weights = array<float>({1, 2, 4, 8, 16, 32});
  EXPECT_THAT(doubles(bincount(x, 4, weights)), ElementsAre(32, 5, 0, 2));
  EXPECT_THAT(error_of([&] { bincount(x, 4, ones({2})); }),
              HasSubstr("bincount: weights are f32[2]; x is s32[6], they must have its shape"));
  EXPECT_THAT(bincount(array<uint8_t>({255, 0}), 2).to_vector<int>(), ElementsAre(1, 0));
  // The length is no number of the dtype.
  EXPECT_THAT(bincount(array<uint8_t>({255, 0}), 256).to_vector<int>()[255], 1);
  EXPECT_THAT(bincount(array<int8_t>({-1, 127}), 300).to_vector<int>()[127], 1);
  EXPECT_THAT(bincount(array<uint64_t>({UINT64_MAX, 1}), 2).to_vector<int>(), ElementsAre(0, 1));
  EXPECT_THAT(histogram(rows(), 4, 1, 9).to_vector<int>(), ElementsAre(3, 3, 3, 1));
  EXPECT_THAT(histogram(array<float>({NAN, INFINITY, 0.5}), 2, 0, 1).to_vector<int>(),
              ElementsAre(0, 1));
}

TEST(Matrices, Diagonals) {
  Tensor x = reshape(arange(6), {2, 3});
  EXPECT_THAT(diagonal(x).to_vector<int>(), ElementsAre(0, 4));
  EXPECT_THAT(diagonal(x, 1).to_vector<int>(), ElementsAre(1, 5));
  EXPECT_THAT(diagonal(x, 2).to_vector<int>(), ElementsAre(2));
  EXPECT_THAT(diagonal(x, -1).to_vector<int>(), ElementsAre(3));
  EXPECT_EQ(diagonal(x, 3).size(), 0);
  EXPECT_EQ(diagonal(x, -2).size(), 0);
  EXPECT_EQ(diagonal(zeros({2, 0, 3})).shape(), Shape(f32, {3, 0}));
  EXPECT_EQ(diagonal(zeros({2, 0, 3}), 0, -2, -1).shape(), Shape(f32, {2, 0}));
  const Tensor cube = reshape(arange(8), {2, 2, 2});
  EXPECT_THAT(diagonal(cube).to_vector<int>(), ElementsAre(0, 6, 1, 7));  // as numpy's
  EXPECT_THAT(diagonal(cube, 0, 1, 2).to_vector<int>(), ElementsAre(0, 3, 4, 7));
  EXPECT_THAT(diagonal(cube, 1, 2, 0).to_vector<int>(), ElementsAre(4, 6));
  EXPECT_THAT(diag(array<int>({1, 2})).to_vector<int>(), ElementsAre(1, 0, 0, 2));
  EXPECT_THAT(diag(array<int>({1, 2}), 1).to_vector<int>(), ElementsAre(0, 1, 0, 0, 0, 2, 0, 0, 0));
  EXPECT_THAT(diag(array<int>({1, 2}), -1).to_vector<int>(),
              ElementsAre(0, 0, 0, 1, 0, 0, 0, 2, 0));
  EXPECT_THAT(diag(x, 1).to_vector<int>(), ElementsAre(1, 5));
  EXPECT_THAT(error_of([] { diag(ones({2, 2, 2})); }), HasSubstr("diag: x is f32[2,2,2]"));
}

TEST(Matrices, Products) {
  EXPECT_THAT(doubles(cross(array<double>({1, 2, 3}), array<double>({-1, 0.5, 2}))),
              ElementsAre(2.5, -5, 2.5));
  EXPECT_EQ(cross(ones({4, 3}), ones({3})).shape(), Shape(f32, {4, 3}));
  Tensor a = array<int>({1, 2, 3, 4}, {2, 2}), b = array<int>({0, 1, 2, 3}, {2, 2});
  EXPECT_THAT(kron(a, b).to_vector<int>(),
              ElementsAre(0, 1, 0, 2, 2, 3, 4, 6, 0, 3, 0, 4, 6, 9, 8, 12));
  EXPECT_THAT(inner(a, b).to_vector<int>(), ElementsAre(2, 8, 4, 18));
  Tensor z = complex(array<float>({1, 2}), array<float>({3, 4}));
  EXPECT_EQ(real(vdot(z, z)).item<float>(), 30);
  EXPECT_EQ(imag(vdot(z, z)).item<float>(), 0);
}

TEST(Matrices, Grids) {
  const std::vector<Tensor> axes = {arange(2), arange(3)};
  const std::vector<Tensor> xy = meshgrid(axes);
  EXPECT_EQ(xy[0].shape(), Shape(s32, {3, 2}));
  EXPECT_THAT(xy[0].to_vector<int>(), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(xy[1].to_vector<int>(), ElementsAre(0, 0, 1, 1, 2, 2));
  const std::vector<Tensor> ij = meshgrid(axes, GridOrder::kRowsFirst);
  EXPECT_THAT(ij[0].to_vector<int>(), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_TRUE(meshgrid({}).empty());
  const auto [x, y] = meshgrid(arange(2), arange(3));
  EXPECT_THAT(x.to_vector<int>(), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(y.to_vector<int>(), ElementsAre(0, 0, 1, 1, 2, 2));
  const auto [i, j, k] = meshgrid(arange(2), arange(3), arange(1), GridOrder::kRowsFirst);
  EXPECT_THAT(j.to_vector<int>(), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_EQ(k.shape(), Shape(s32, {2, 3, 1}));
}

TEST(Sequences, DifferencesAndIntegrals) {
  EXPECT_THAT(doubles(diff(rows(), 2)), ElementsAre(5, -6, 7, 11, -5, -1));
  EXPECT_THAT(doubles(diff(rows(), 1, 0)), ElementsAre(6, 1, 2, 4, -2));
  EXPECT_EQ(diff(ones({1}), 3).size(), 0);
  EXPECT_EQ(diff(ones({4}), int64_t{1} << 40).size(), 0);
  EXPECT_THAT(diff(array<bool>({true, true, false})).to_vector<bool>(), ElementsAre(false, true));
  EXPECT_THAT(doubles(trapezoid(rows(), 0.5)), ElementsAre(5, 9.5));
  EXPECT_EQ(trapezoid_at(rows()[0], array<double>({0, 1, 3, 4, 7})).item<double>(), 18.5);
  EXPECT_THAT(error_of([] { trapezoid_at(ones({3}), ones({2})); }),
              HasSubstr("trapezoid_at: x is f32[2]; it must be a vector of 3 elements"));
}

TEST(Sequences, Gradients) {
  Tensor y = array<double>({1, 2, 4, 7, 11});
  EXPECT_THAT(doubles(gradient(y)), ElementsAre(1, 1.5, 2.5, 3.5, 4));
  EXPECT_THAT(doubles(gradient(array<double>({1, 2, 6, 3, 4, 5}, {2, 3}), 2, 0)),
              ElementsAre(1, 1, -0.5, 1, 1, -0.5));
  const Tensor image = array<double>({{1, 2, 6}, {3, 4, 5}});
  const auto [down, across] = gradient<2>(image, 2);
  EXPECT_THAT(doubles(down), ElementsAre(1, 1, -0.5, 1, 1, -0.5));
  EXPECT_THAT(doubles(across), ElementsAre(0.5, 1.25, 2, 0.5, 0.5, 0.5));
  EXPECT_THAT(error_of([&] { gradient(image); }),
              HasSubstr("gradient: y is f64[2,3]; without an axis it must be a vector. Name one, "
                        "gradient(y, step, axis), or take all: auto [..] = gradient<2>(y)"));
  EXPECT_THAT(error_of([] { gradient(ones({})); }), HasSubstr("y is f32[]; a scalar has no axis"));
  EXPECT_THAT(error_of([] { gradient<0>(ones({})); }), HasSubstr("a scalar has no axis"));
  EXPECT_THAT(error_of([&] { gradient<3>(image); }),
              HasSubstr("gradient: y is f64[2,3], of rank 2; gradient<3>(y) gives a derivative"));
  EXPECT_THAT(doubles(gradient_at(y, array<double>({0, 1, 1.5, 3.5, 4}))),
              ElementsAre(1, near(3), near(3.5), near(6.7), near(8)));
  EXPECT_THAT(doubles(gradient_at(array<double>({1, 4}), array<double>({0, 2}))),
              ElementsAre(1.5, 1.5));
  EXPECT_THAT(error_of([] {
                gradient(ones({2, 1}), 1, -1);
              }),
              HasSubstr("gradient: y is f32[2,1]; it must be of floats or complex numbers, with 2 "
                        "elements or more along axis 1"));
  EXPECT_THAT(error_of([&] { gradient_at(y, ones({2}, f64)); }),
              HasSubstr("gradient_at: x is f64[2]; it must be a vector of 5 elements"));
  EXPECT_THAT(ediff1d(array<int>({{1, 2}, {4, 7}}), {array<int>({-9})}, {array<int>({88})})
                  .to_vector<int>(),
              ElementsAre(88, 1, 2, 3, -9));
  EXPECT_EQ(ediff1d(scalar<int>(1)).size(), 0);
}

TEST(Sequences, ConvolutionsOfIntegers) {
  const Tensor x = array<int>({3, -1, 4}), y = array<int>({1, -5, 9});
  EXPECT_THAT(ints(convolve(x, y)), ElementsAre(3, -16, 36, -29, 36));
  EXPECT_THAT(ints(correlate(x, y, ConvolveMode::kSame)), ElementsAre(-24, 44, -21));
  EXPECT_EQ(convolve(x.astype(s8), y.astype(s8)).dtype(), s8);
  EXPECT_THAT(error_of([] { convolve(ones({2}, pred), ones({2}, pred)); }),
              HasSubstr("convolve: operands are pred[2] and pred[2]; they must be vectors of "
                        "numbers of one dtype, with elements"));
}

TEST(Sequences, Convolutions) {
  Tensor a = array<double>({1, 2, 4, 8, -3}), b = array<double>({2, -1, 0.5});
  Tensor c = array<double>({1, 3});
  EXPECT_THAT(doubles(convolve(a, b)), ElementsAre(2, 3, 6.5, 13, -12, 7, -1.5));
  EXPECT_THAT(doubles(convolve(b, a, ConvolveMode::kSame)), ElementsAre(3, 6.5, 13, -12, 7));
  EXPECT_THAT(doubles(convolve(a, b, ConvolveMode::kValid)), ElementsAre(6.5, 13, -12));
  EXPECT_THAT(doubles(convolve(a, c, ConvolveMode::kSame)), ElementsAre(1, 5, 10, 20, 21));
  EXPECT_THAT(doubles(correlate(a, b, ConvolveMode::kFull)),
              ElementsAre(0.5, 0, 2, 4, -1.5, 19, -6));
  EXPECT_THAT(doubles(correlate(b, a, ConvolveMode::kFull)),
              ElementsAre(-6, 19, -1.5, 4, 2, 0, 0.5));
  EXPECT_THAT(doubles(correlate(a, b, ConvolveMode::kSame)), ElementsAre(0, 2, 4, -1.5, 19));
  EXPECT_THAT(doubles(correlate(c, a, ConvolveMode::kSame)), ElementsAre(-1, 28, 14, 7, 3));
  EXPECT_THAT(doubles(correlate(a, b)), ElementsAre(2, 4, -1.5));
  Tensor z = complex(array<float>({1, 2}), array<float>({3, 4}));
  EXPECT_EQ(imag(correlate(z, z)).item<float>(), 0);
  EXPECT_EQ(real(correlate(z, z)).item<float>(), 30);
  EXPECT_THAT(error_of([] {
                convolve(ones({2}), ones({2, 2}));
              }),
              HasSubstr("convolve: operands are f32[2] and f32[2,2]"));
}

TEST(Sequences, PositionsOfWhatIsNotZero) {
  Tensor x = array<int>({0, 5, 0, -2, 7});
  EXPECT_THAT(nonzero(x, 4, -1).to_vector<int>(), ElementsAre(1, 3, 4, -1));
  EXPECT_THAT(nonzero(x, 2).to_vector<int>(), ElementsAre(1, 3));
  EXPECT_THAT(nonzero(x, 7, 9).to_vector<int>(), ElementsAre(1, 3, 4, 9, 9, 9, 9));
  EXPECT_THAT(nonzero(zeros({0}), 1, 9).to_vector<int>(), ElementsAre(9));
}

TEST(Sequences, PositionsAndElementsOfWhatIsTrue) {
  Tensor x = array<int>({{0, 5, 0}, {7, 0, 9}});
  EXPECT_THAT(argwhere(x, 4).to_vector<int>(), ElementsAre(0, 1, 1, 0, 1, 2, 0, 0));
  EXPECT_EQ(argwhere(zeros({0, 2}), 3).shape(), Shape(s32, {3, 2}));
  Tensor rows = compress(array<bool>({true, false, true}), x, 3, 1, -1);
  EXPECT_THAT(rows.to_vector<int>(), ElementsAre(0, 0, -1, 7, 9, -1));
  EXPECT_THAT(compress(array<bool>({false, true}), x, 1, 0).to_vector<int>(), ElementsAre(7, 0, 9));
  EXPECT_THAT(compress(array<bool>({true}), x, 1, 1).to_vector<int>(), ElementsAre(0, 7));
  EXPECT_THAT(compress(array<bool>({false, true}), x, 2, {}, -1).to_vector<int>(),
              ElementsAre(5, -1));
  EXPECT_THAT(compress(zeros({0}, pred), x, 1, 0, 3).to_vector<int>(), ElementsAre(3, 3, 3));
  EXPECT_THAT(extract(x > 5, x, 3).to_vector<int>(), ElementsAre(7, 9, 0));
  EXPECT_THAT(error_of([&] { compress(ones({4}), x, 1, 1); }),
              HasSubstr("compress: condition is f32[4]; x is s32[2,3], it must be a vector of at "
                        "most 3 elements, as axis 1 has"));
  EXPECT_THAT(error_of([&] { extract(ones({2}), x, 1); }),
              HasSubstr("extract: condition is f32[2]; x is s32[2,3], it must have its shape"));
}

TEST(Statistics, AreOneProgramEach) {
  Tensor x = rows();
  Counters before = counters();
  corrcoef(x);
  histogram(x, 4, 1, 9);
  EXPECT_EQ((counters() - before).executions, 2);
}

// Errors do not name `max`, `sum` or `mean`, which these functions call.
TEST(Statistics, ErrorsNameTheFunctionThatWasCalled) {
  const Tensor x = ones({2, 3}), z = complex(x, x);
  const Reduction third{.axes = {2}};
  const auto expect = [](const std::function<void()>& call, const std::string& text) {
    EXPECT_THAT(error_of(call), AllOf(StartsWith(text), HasSubstr("statistics_test.cc:")));
  };
  const std::string no_axis = ": axis is 2; f32[2,3] has axes -2 .. 1";
  expect([&] { ptp(x, third); }, "ptp" + no_axis);
  expect([&] { nan_sum(x, third); }, "nan_sum" + no_axis);
  expect([&] { nan_mean(x, third); }, "nan_mean" + no_axis);
  expect([&] { count_nonzero(x, third); }, "count_nonzero" + no_axis);
  expect([&] { ptp(z); }, "ptp: x is c64[2,3]; complex numbers have no order");
}

TEST(Statistics, CountOfNoAxesIsOfEachElement) {
  EXPECT_THAT(count_nonzero(ones({2, 3}), {.axes = {}}).to_vector<int>(), testing::Each(1));
}

// One rule for functions that divide: the caller casts integers, as for mean.
TEST(Statistics, MeansAreOfFloats) {
  const Tensor whole = array<int>({1, 2});
  const std::string text = ": x is s32[2]; it must be of floats, cast it with astype(f32)";
  EXPECT_THAT(error_of([&] { average(whole, whole); }), StartsWith("average" + text));
  EXPECT_THAT(error_of([&] { nan_mean(whole); }), StartsWith("nan_mean" + text));
  EXPECT_THAT(error_of([&] { trapezoid(whole); }), StartsWith("trapezoid" + text));
  EXPECT_THAT(error_of([&] { trapezoid_at(whole, whole); }), StartsWith("trapezoid_at" + text));
  EXPECT_THAT(error_of([&] { average(ones({2}), whole); }),
              StartsWith("average: weights are s32[2]; x is f32[2], cast them with astype(f32)"));
  EXPECT_EQ(nan_sum(whole).item<int>(), 3);
}

}  // namespace
}  // namespace heddle
