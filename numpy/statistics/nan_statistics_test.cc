// Against results of numpy 2 and jax.numpy 0.10; orders too.
#include "heddle/numpy/statistics/nan_statistics.h"

#include <cmath>
#include <complex>

#include "heddle/base/support_test.h"
#include "heddle/numpy/sorting.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/ops/movement/shaping.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

Tensor rows() { return array<double>({3, NAN, 1, NAN, NAN, 4}, {2, 3}); }
auto near(double x) { return DoubleNear(x, 1e-14); }

TEST(NanStatistics, LeaveNanOut) {
  EXPECT_EQ(nan_prod(rows()).item<double>(), 12);
  EXPECT_THAT(doubles(nan_prod(rows(), {.axes = {0}})), ElementsAre(3, 1, 4));
  EXPECT_EQ(nan_max(rows()).item<double>(), 4);
  EXPECT_THAT(doubles(nan_max(rows(), {.axes = {0}})), ElementsAre(3, IsNan(), 4));
  EXPECT_THAT(doubles(nan_min(rows(), {.axes = {-2}})), ElementsAre(3, IsNan(), 1));
  EXPECT_EQ(nan_min(array<float>({INFINITY, NAN})).item<float>(), INFINITY);
  EXPECT_THAT(error_of([] { nan_max(ones({2}), {.axes = {1}}); }), HasSubstr("nan_max: axis"));
  EXPECT_THAT(error_of([] { nan_max(ones({2}, c64)); }),
              HasSubstr("nan_max: x is c64[2]; it must be of floats, cast it with astype(f32)"));
}

TEST(NanStatistics, Variances) {
  EXPECT_THAT(nan_var(rows()).item<double>(), near(1.5555555555555554));
  EXPECT_THAT(doubles(nan_var(rows(), {.axes = {0}})), ElementsAre(0, IsNan(), 2.25));
  EXPECT_THAT(doubles(nan_var(rows(), {.axes = {1}}, 1)), ElementsAre(2, IsNan()));
  EXPECT_THAT(doubles(nan_std(rows(), {.axes = {0}, .keep_dims = true})),
              ElementsAre(0, IsNan(), 1.5));
}

TEST(NanStatistics, Positions) {
  EXPECT_THAT(ints(nan_argmax(rows(), 0)), ElementsAre(0, -1, 1));
  EXPECT_THAT(ints(nan_argmin(rows(), -1)), ElementsAre(2, 2));
  const Tensor flat = array<float>({{NAN, 2}, {5, -1}});
  EXPECT_EQ(nan_argmax(flat).item<int>(), 2);
  EXPECT_EQ(nan_argmin(flat).item<int>(), 3);
}

TEST(Segments, CombineRowsOfOneNumber) {
  Tensor x = reshape(arange(8), {4, 2}), ids = array<int>({0, 2, 0, 5});
  EXPECT_THAT(ints(segment_sum(x, ids, 3)), ElementsAre(4, 6, 0, 0, 2, 3));
  EXPECT_THAT(ints(segment_prod(x, ids, 3)), ElementsAre(0, 5, 1, 1, 2, 3));
  EXPECT_THAT(doubles(segment_max(x.astype(f32), ids, 3)),
              ElementsAre(4, 5, -INFINITY, -INFINITY, 2, 3));
  EXPECT_THAT(ints(segment_min(x, ids, 2)), ElementsAre(0, 1, INT32_MAX, INT32_MAX));
  EXPECT_THAT(ints(segment_sum(arange(3), array<int>({-1, 0, 0}), 1)), ElementsAre(3));
  using Complex = std::complex<double>;  // by real, then imaginary part
  Tensor z = array({Complex(1, 2), Complex(-4, 0), Complex(1, 3)});
  EXPECT_THAT(segment_max(z, array<int>({0, 2, 0}), 3).to_vector<Complex>(),
              ElementsAre(Complex(1, 3), Complex(-INFINITY, 0), Complex(-4, 0)));
  EXPECT_EQ(segment_sum(x, ids, 0).shape(), Shape(s32, {0, 2}));
  EXPECT_THAT(error_of([&] { segment_sum(x, arange(3), 2); }),
              HasSubstr("segment_sum: ids are s32[3]; they must be s32[4], one for each row of x"));
  EXPECT_THAT(error_of([&] { segment_sum(x, ones({4}), 2); }),
              HasSubstr("segment_sum: ids are f32[4]; they must be integers: cast them"));
  EXPECT_THAT(error_of([&] { segment_sum(x, ids, -1); }),
              HasSubstr("segment_sum: segments is -1; it must be 0 or more"));
  EXPECT_THAT(error_of([&] { segment_sum(1, ids, 2); }),
              HasSubstr("segment_sum: x is s32[]; it must have rows"));
}

TEST(Orders, ByTheLastKeyFirst) {
  Tensor a = array<int>({9, 4, 0, 4, 0, 2}), b = array<int>({1, 5, 1, 4, 3, 4});
  EXPECT_THAT(ints(lexsort({a, b})), ElementsAre(2, 0, 4, 5, 3, 1));
  EXPECT_THAT(ints(lexsort({arange(3), array<float>({NAN, 1, NAN})})), ElementsAre(1, 0, 2));
  EXPECT_THAT(error_of([&] {
                lexsort({a, arange(2)});
              }),
              HasSubstr("lexsort: keys are s32[6] and s32[2]; they must have one shape"));
}

TEST(Orders, PartsAndComplexNumbers) {
  Tensor x = array<int>({5, 1, 4, 2});
  EXPECT_EQ(ints(partition(x, 2))[2], 4);
  EXPECT_EQ(ints(argpartition(x, -1))[3], 0);
  EXPECT_THAT(error_of([&] { partition(x, 4); }),
              HasSubstr("partition: k is 4; axis -1 of s32[4] has size 4, k must be in -4 .. 3"));
  Tensor z = complex(array<float>({2, 1, 2, 1}), array<float>({1, 3, -1, 0}));
  EXPECT_THAT(doubles(real(sort_complex(z))), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(doubles(imag(sort_complex(z))), ElementsAre(0, 3, -1, 1));
}

TEST(Orders, WritingAlongAnAxis) {
  Tensor x = zeros({2, 3}, s32), to = array<int>({{0, -1}, {1, 5}});
  EXPECT_THAT(ints(put_along_axis(x, to, array<int>({{1, 2}, {3, 4}}), 1)),
              ElementsAre(1, 0, 2, 0, 3, 0));
  EXPECT_THAT(ints(put_along_axis(x, array<int>({{1, 0, 1}}), 7, 0)),
              ElementsAre(0, 7, 0, 7, 0, 7));
  EXPECT_THAT(ints(put_along_axis(x, array<int>({{1, 2}}), array<int>({{1, 2}, {3, 4}}), 1)),
              ElementsAre(0, 1, 2, 0, 3, 4));
  EXPECT_THAT(ints(put_along_axis(x, array<int>({{0}, {1}}), array<int>({1, 2, 3}), 0)),
              ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(ints(put_along_axis(zeros({1, 3}, s32), array<int>({{0}, {1}}), 5, 1)),
              ElementsAre(5, 5, 0));
  EXPECT_THAT(error_of([&] { put_along_axis(x, to, 1, 0); }),
              StartsWith("put_along_axis: indices are s32[2,2] and x s32[2,3]; the sizes of all "
                         "axes but 0 must be equal or 1"));
}

}  // namespace
}  // namespace heddle
