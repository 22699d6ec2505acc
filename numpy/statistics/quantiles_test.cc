// Against results of numpy 2, and at the edges.
#include "heddle/numpy/statistics/quantiles.h"

#include <cmath>

#include "heddle/base/support_test.h"
#include "heddle/numpy/aliases.h"
#include "heddle/trace/ops/creation/creation.h"
#include "heddle/trace/support_test.h"

namespace heddle {
namespace {

auto near(double x) { return DoubleNear(x, 1e-14); }
Tensor rows() { return array<double>({{3, 1, 4, 1, 5}, {9, 2, 6, 5, 3}}); }
Tensor gaps() { return array<double>({{3, NAN, 1}, {NAN, NAN, 4}}); }

TEST(Quantiles, OfAllAndAlongAnAxis) {
  EXPECT_THAT(quantile(rows(), 0.3).item<double>(), near(2.7));
  EXPECT_THAT(doubles(quantile(rows(), 0.3, 1)), ElementsAre(near(1.4), near(3.4)));
  EXPECT_EQ(median(rows()).item<double>(), 3.5);
  EXPECT_THAT(doubles(median(rows(), 0)), ElementsAre(6, 1.5, 5, 3, 4));
  EXPECT_EQ(quantile(rows(), 1).item<double>(), 9);
  EXPECT_EQ(quantile(array<double>({INFINITY, 1, 2}), 0.5).item<double>(), 2);
  EXPECT_THAT(median(array<double>({NAN, 1, 2})).item<double>(), IsNan());
  EXPECT_EQ(median(scalar<float>(2)).item<float>(), 2);
}

// The parts of both neighbours are rounded to the dtype each: neither is 1 less the other rounded.
TEST(Quantiles, PartsOfNearlyOneKeepWhatIsInfinite) {
  const Tensor x = concat({full({29}, -INFINITY), arange(72.0f)});
  EXPECT_EQ(percentile(x, 29.0).item<float>(), -INFINITY);  // at 28.999999999999996
  const Tensor ends = array<float>({-INFINITY, 2});
  EXPECT_EQ(quantile(ends.astype(f16), 0.9999).astype(f32).item<float>(), -INFINITY);
  EXPECT_EQ(quantile(ends.astype(bf16), 0.999).astype(f32).item<float>(), -INFINITY);
  const Tensor far = array<float>({-1000, 1});
  EXPECT_NEAR(quantile(far.astype(f16), 0.99).astype(f32).item<float>(), -9.01, 0.05);
  EXPECT_NEAR(quantile(far.astype(bf16), 0.99).astype(f32).item<float>(), -9.01, 0.1);
}

TEST(Quantiles, OfManyLevelsAreThoseOfEach) {
  const Tensor x = sin(reshape(arange(165.0), {5, 33}).astype(f64) * 1.7);
  std::vector<double> levels;
  for (int i = 0; i < 20; ++i) levels.push_back(i / 19.0);
  const Tensor all = quantile(x, levels, 1), numbers = nan_quantile(x, levels, 1);
  for (int i = 0; i < 20; ++i) {
    const auto want = quantile(x, levels[static_cast<size_t>(i)], 1).to_vector<double>();
    EXPECT_EQ(all[i].to_vector<double>(), want) << i;
    EXPECT_THAT(numbers[i].to_vector<double>(),
                testing::Pointwise(testing::DoubleNear(1e-12), want))
        << i;
  }
}

// A tensor of levels is known only when the program runs.
TEST(Quantiles, OfATensorOfLevelsAreThoseOfEach) {
  using enum QuantileMethod;
  const Tensor x = sin(reshape(arange(165.0), {5, 33}).astype(f64) * 1.7);
  const std::vector<double> levels = {0, 0.1, 0.5, 0.77, 1};
  const Tensor parts = array(levels);
  for (const QuantileMethod way : {kLinear, kLower, kHigher, kNearest, kMidpoint}) {
    const auto near_each = [](const Tensor& want) {
      return testing::Pointwise(testing::DoubleNear(1e-12), doubles(want));
    };
    EXPECT_THAT(doubles(quantile(x, parts, 1, way)), near_each(quantile(x, levels, 1, way)));
    EXPECT_THAT(doubles(nan_quantile(x, parts, 0, way)),
                near_each(nan_quantile(x, levels, 0, way)));
    EXPECT_THAT(doubles(percentile(x, parts * 100, {}, way)),
                near_each(quantile(x, levels, {}, way)));
  }
  EXPECT_EQ(quantile(x, parts[1], 1).shape(), Shape(f64, {5}));
  EXPECT_EQ(quantile(x, parts, 1).shape(), Shape(f64, {5, 5}));
  EXPECT_EQ(nan_quantile(x, zeros({0}), 1).shape(), Shape(f64, {0, 5}));
  EXPECT_THAT(doubles(quantile(rows(), array<double>({-0.1, 0.5, 1.1, NAN}))),
              ElementsAre(IsNan(), 3.5, IsNan(), IsNan()));
  EXPECT_THAT(doubles(nan_quantile(gaps(), array<double>({2, 1}))), ElementsAre(IsNan(), 4));
  EXPECT_THAT(quantile(array<double>({NAN, 1, 2}), array<double>({0.5})).to_vector<double>(),
              ElementsAre(IsNan()));
  EXPECT_THAT(error_of([] {
                quantile(ones({2}), array({1, 0}));
              }),
              HasSubstr("quantile: q is s32[2]; it must be a float or a list of floats"));
}

TEST(Quantiles, OfTheNumbersAlone) {
  EXPECT_EQ(nan_median(gaps()).item<double>(), 3);
  EXPECT_THAT(doubles(nan_median(gaps(), 0)), ElementsAre(3, IsNan(), 2.5));
  EXPECT_THAT(nan_quantile(gaps(), 0.3).item<double>(), near(2.2));
  EXPECT_THAT(doubles(nan_percentile(gaps(), 30, 1)), ElementsAre(near(1.6), 4));
  EXPECT_EQ(nan_quantile(array<double>({INFINITY, 1, NAN}), 1).item<double>(), INFINITY);
}

TEST(Quantiles, ListsHaveAnAxisInFront) {
  EXPECT_THAT(doubles(quantile(rows(), {0.25, 0.9}, 1)), ElementsAre(1, 3, near(4.6), near(7.8)));
  EXPECT_EQ(quantile(rows(), {0.25, 0.9, 0}, 0).shape(), Shape(f64, {3, 5}));
  EXPECT_THAT(doubles(percentile(rows(), std::vector<double>{0, 30, 100})),
              ElementsAre(1, near(2.7), 9));
  EXPECT_THAT(doubles(nanquantile(gaps(), {0.25, 0.5}, 0)),
              ElementsAre(3, IsNan(), 1.75, 3, IsNan(), 2.5));
  EXPECT_THAT(doubles(nanpercentile(gaps(), {10, 75}, -1)), ElementsAre(near(1.2), 4, 2.5, 4));
  EXPECT_EQ(nan_percentile(gaps(), {50}).shape(), Shape(f64, {1}));
  EXPECT_EQ(nan_percentile(gaps(), 50).shape(), Shape(f64, {}));
}

TEST(Quantiles, BetweenTwoElements) {
  using enum QuantileMethod;
  const auto all = [](QuantileMethod way) {
    return doubles(nan_quantile(gaps(), {0.25, 0.7}, {}, way));
  };
  EXPECT_THAT(all(kLinear), ElementsAre(2, near(3.4)));
  EXPECT_THAT(all(kLower), ElementsAre(1, 3));
  EXPECT_THAT(all(kHigher), ElementsAre(3, 4));
  EXPECT_THAT(all(kNearest), ElementsAre(1, 3));
  EXPECT_THAT(all(kMidpoint), ElementsAre(2, 3.5));
  const auto of_rows = [](QuantileMethod way) {
    return doubles(percentile(rows(), {40, 95}, 1, way));
  };
  EXPECT_THAT(of_rows(kLinear), ElementsAre(near(2.2), near(4.2), near(4.8), near(8.4)));
  EXPECT_THAT(of_rows(kLower), ElementsAre(1, 3, 4, 6));
  EXPECT_THAT(of_rows(kHigher), ElementsAre(3, 5, 5, 9));
  EXPECT_THAT(of_rows(kNearest), ElementsAre(3, 5, 5, 9));
  EXPECT_THAT(of_rows(kMidpoint), ElementsAre(2, 4, 4.5, 7.5));
  // A position exactly on an element has no neighbour.
  EXPECT_THAT(doubles(quantile(rows(), {0, 1}, 0, kHigher)),
              ElementsAre(3, 1, 4, 1, 3, 9, 2, 6, 5, 5));
  EXPECT_EQ(nan_quantile(array<double>({INFINITY, 1}), 1, {}, kMidpoint).item<double>(), INFINITY);
}

TEST(Quantiles, ErrorsNameTheFunctionThatWasCalled) {
  EXPECT_THAT(error_of([] { quantile(ones({2}), 2); }),
              HasSubstr("quantile: q is 2; it must be in 0 .. 1 [quantiles_test.cc:"));
  EXPECT_THAT(error_of([&] {
                nan_quantile(rows(), {0.5, -1});
              }),
              HasSubstr("nan_quantile: q is -1; it must be in 0 .. 1"));
  EXPECT_THAT(error_of([] {
                percentile(ones({2}), {50, 101});
              }),
              HasSubstr("percentile: q is 101; it must be in 0 .. 100"));
  EXPECT_THAT(error_of([] { nan_percentile(ones({2}), {}); }),
              HasSubstr("nan_percentile: q has no parts; give at least one"));
  EXPECT_THAT(error_of([] { median(zeros({0})); }), HasSubstr("median: x is f32[0]"));
  EXPECT_THAT(error_of([] { nan_median(zeros({0})); }),
              HasSubstr("nan_median: x is f32[0]; it must have elements"));
  EXPECT_THAT(error_of([] { quantile(ones({2}, s32), 0.5); }),
              HasSubstr("quantile: x is s32[2]; it must be of floats, cast it with astype(f32)"));
}

}  // namespace
}  // namespace heddle
