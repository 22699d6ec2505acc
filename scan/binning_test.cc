// Bins, interpolation, sets, running functions, against what numpy 2 and jax.numpy 0.10 give.
#include "heddle/scan/binning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heddle/scan/running.h"
#include "heddle/scan/sets.h"
#include "heddle/trace/creation.h"
#include "heddle/trace/shaping.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

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
              HasSubstr("digitize: edges is f32[2,2]; it must be a vector of 0 elements or more"));
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
  EXPECT_THAT(error_of([] { nan_cumsum(arange(3)); }), HasSubstr("nan_cumsum: x is s32[3]"));
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
  EXPECT_THAT(error_of([] { gcd(ones({2}), 2); }),
              HasSubstr("gcd: operands are f32[2]; they must be of integers"));
}

}  // namespace
}  // namespace heddle
