// batch-norm-training, -inference, -grad: against the formulas element by element, and the
// gradients against differences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "heddle/interpreter/ops/movement/index_testing.h"
#include "heddle/interpreter/ops/op_testing.h"

namespace heddle::interpreter {
namespace {

using index_testing::Index;
using index_testing::Random;
using op_testing::numbers;
using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr float kEpsilon = 0.25f;

struct Sample {
  int64_t feature = 0;
  Literal x, scale, offset, grad;
};

Literal random_f64(Random& random, std::vector<int64_t> dims) {
  Literal out(Shape(f64, std::move(dims)));
  for (double& value : out.mutable_values<double>())
    value = static_cast<double>(random.in(-1000, 1000)) / 300.0;
  return out;
}

Sample random_sample(Random& random) {
  Sample out;
  std::vector<int64_t> dims(static_cast<size_t>(random.in(1, 4)));
  for (int64_t& size : dims) size = random.in(1, 4);
  out.feature = random.in(0, static_cast<int64_t>(dims.size()) - 1);
  const int64_t features = dims[static_cast<size_t>(out.feature)];
  out.x = random_f64(random, dims);
  out.grad = random_f64(random, dims);
  out.scale = random_f64(random, {features});
  out.offset = random_f64(random, {features});
  return out;
}

BatchNormAttrs attrs_of(const Sample& s) {
  return {.epsilon = kEpsilon, .feature_index = s.feature};
}

Literal train(const Sample& s) {
  return op_testing::evaluate(Opcode::kBatchNormTraining, {s.x, s.scale, s.offset}, attrs_of(s),
                              Shape::tuple({s.x.shape(), s.scale.shape(), s.scale.shape()}));
}

// The elements of x whose index along the feature dimension is f.
std::vector<double> of_feature(const Sample& s, const Literal& x, int64_t f) {
  std::vector<double> out;
  index_testing::for_each_index(x.shape().dimensions(), [&](const Index& at) {
    if (at[static_cast<size_t>(s.feature)] != f) return;
    out.push_back(x.to_double(index_testing::position(x.shape().dimensions(), at)));
  });
  return out;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want,
                 double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i], tolerance * (1 + std::fabs(want[i]))) << i;
}

template <class Fn>
void for_samples(uint32_t seed, int count, const Fn& check) {
  Random random(seed);
  for (int round = 0; round < count; ++round) {
    const Sample s = random_sample(random);
    SCOPED_TRACE(base::cat("round ", round, ": ", s.x.shape(), ", feature ", s.feature));
    check(s);
  }
}

TEST(BatchNorm, TrainingNormalisesEachFeature) {
  for_samples(8, 60, [](const Sample& s) {
    const Literal out = train(s);
    for (int64_t f = 0; f < s.scale.element_count(); ++f) {
      const std::vector<double> x = of_feature(s, s.x, f);
      double mean = 0, square = 0;
      for (double value : x) mean += value / static_cast<double>(x.size());
      for (double value : x) square += value * value / static_cast<double>(x.size());
      const double variance = square - mean * mean;
      EXPECT_NEAR(out.element(1).to_double(f), mean, 1e-12);
      EXPECT_NEAR(out.element(2).to_double(f), variance, 1e-11);
      std::vector<double> want;
      for (double value : x) {
        want.push_back(s.scale.to_double(f) * (value - mean) / std::sqrt(variance + 0.25) +
                       s.offset.to_double(f));
      }
      expect_near(of_feature(s, out.element(0), f), want, 1e-11);
    }
  });
}

TEST(BatchNorm, InferenceIsTrainingWithItsStatistics) {
  for_samples(9, 30, [](const Sample& s) {
    const Literal trained = train(s);
    const Literal inferred = op_testing::evaluate(
        Opcode::kBatchNormInference,
        {s.x, s.scale, s.offset, trained.element(1), trained.element(2)}, attrs_of(s), s.x.shape());
    EXPECT_EQ(inferred, trained.element(0));
  });
}

// The sum of grad times y, of which batch-norm-grad gives the derivatives.
double objective(const Sample& s) {
  const Literal y = train(s);
  double sum = 0;
  for (int64_t i = 0; i < s.x.element_count(); ++i)
    sum += s.grad.to_double(i) * y.element(0).to_double(i);
  return sum;
}

// Derivatives by one operand, by central differences.
std::vector<double> differences(Sample s, Literal Sample::*operand) {
  constexpr double kStep = 1e-5;
  std::vector<double> out;
  for (size_t i = 0; i < numbers(s.*operand).size(); ++i) {
    const double value = (s.*operand).to_double(static_cast<int64_t>(i));
    (s.*operand).mutable_values<double>()[i] = value + kStep;
    const double above = objective(s);
    (s.*operand).mutable_values<double>()[i] = value - kStep;
    const double below = objective(s);
    (s.*operand).mutable_values<double>()[i] = value;
    out.push_back((above - below) / (2 * kStep));
  }
  return out;
}

TEST(BatchNorm, GradientsMatchDifferences) {
  for_samples(10, 20, [](const Sample& s) {
    const Literal trained = train(s);
    const Literal grad = op_testing::evaluate(
        Opcode::kBatchNormGrad, {s.x, s.scale, trained.element(1), trained.element(2), s.grad},
        attrs_of(s), trained.shape());
    expect_near(numbers(grad.element(0)), differences(s, &Sample::x), 1e-7);
    expect_near(numbers(grad.element(1)), differences(s, &Sample::scale), 1e-7);
    expect_near(numbers(grad.element(2)), differences(s, &Sample::offset), 1e-7);
  });
}

TEST(BatchNorm, AFeatureWithoutElementsHasNaNStatistics) {
  const Shape x(f32, {0, 2}), vector(f32, {2});
  const Literal out = op_testing::evaluate(
      Opcode::kBatchNormTraining, {Literal(x), Literal(vector), Literal(vector)},
      BatchNormAttrs{.epsilon = 1, .feature_index = 1}, Shape::tuple({x, vector, vector}));
  EXPECT_THAT(numbers(out.element(1)), ElementsAre(IsNan(), IsNan()));
  EXPECT_THAT(numbers(out.element(2)), ElementsAre(IsNan(), IsNan()));
}

TEST(BatchNorm, NaNStaysInItsFeature) {
  const Literal x =
      op_testing::array(f32, {op_testing::kNaN, 1, 2, 3}).reshaped(Shape(f32, {2, 2}));
  const Literal ones = op_testing::array(f32, {1, 1}), zeros = op_testing::array(f32, {0, 0});
  const Literal out = op_testing::evaluate(Opcode::kBatchNormTraining, {x, ones, zeros},
                                           BatchNormAttrs{.epsilon = 0, .feature_index = 1},
                                           Shape::tuple({x.shape(), ones.shape(), ones.shape()}));
  EXPECT_THAT(numbers(out.element(0)), ElementsAre(IsNan(), -1, IsNan(), 1));
  EXPECT_THAT(numbers(out.element(1)), ElementsAre(IsNan(), 2));
}

TEST(BatchNorm, SmallFloatsAreRoundedOnce) {
  // Squares of bf16 numbers summed in bf16 would give a variance of 0 here.
  const Literal x = op_testing::array(bf16, {1000, 1008, 1000, 1008}).reshaped(Shape(bf16, {4, 1}));
  const Literal one = op_testing::array(bf16, {1}), zero = op_testing::array(bf16, {0});
  const Literal out = op_testing::evaluate(Opcode::kBatchNormTraining, {x, one, zero},
                                           BatchNormAttrs{.epsilon = 0, .feature_index = 1},
                                           Shape::tuple({x.shape(), one.shape(), one.shape()}));
  EXPECT_THAT(numbers(out.element(0)), ElementsAre(-1, 1, -1, 1));
  EXPECT_THAT(numbers(out.element(1)), ElementsAre(1004));
  EXPECT_THAT(numbers(out.element(2)), ElementsAre(16));
}

}  // namespace
}  // namespace heddle::interpreter
