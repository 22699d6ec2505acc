// Computed in f64, and rounded once to the element types.
#include <cmath>

#include "heddle/hlo/literal/blocks.h"
#include "heddle/interpreter/ops/movement/elements.h"
#include "heddle/interpreter/rules.h"

namespace heddle::interpreter {
namespace {

// The elements of an array by feature: [outer, features, inner].
class ByFeature {
 public:
  ByFeature(const Shape& x, int64_t feature) : features_(x.dimension(feature)) {
    for (int64_t d = 0; d < feature; ++d) outer_ *= x.dimension(d);
    for (int64_t d = feature + 1; d < x.rank(); ++d) inner_ *= x.dimension(d);
  }
  [[nodiscard]] int64_t features() const { return features_; }
  [[nodiscard]] double count() const { return static_cast<double>(outer_ * inner_); }

  // Calls visit(position) for every element of a feature.
  template <class Visit>
  void each(int64_t feature, Visit&& visit) const {
    for (int64_t outer = 0; outer < outer_; ++outer) {
      const int64_t start = (outer * features_ + feature) * inner_;
      for (int64_t i = start; i < start + inner_; ++i) visit(static_cast<size_t>(i));
    }
  }

 private:
  int64_t outer_ = 1;
  int64_t features_;
  int64_t inner_ = 1;
};

using Numbers = std::vector<double>;

Literal rounded(const Numbers& numbers, const Shape& shape) {
  Literal out = Literal::uninitialised(shape);
  store(shape.dtype(), numbers.data(), out.element_count(), out.mutable_bytes());
  return out;
}

struct Statistics {
  Numbers mean;
  Numbers variance;
};

Statistics statistics_of(const Numbers& x, const ByFeature& by) {
  Statistics out;
  for (int64_t f = 0; f < by.features(); ++f) {
    double sum = 0, squares = 0;
    by.each(f, [&](size_t i) { sum += x[i]; });
    const double mean = sum / by.count();
    by.each(f, [&](size_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    out.mean.push_back(mean);
    out.variance.push_back(squares / by.count());
  }
  return out;
}

// 1 / sqrt(variance + epsilon)
double reciprocal_deviation(double variance, const EvalArgs& in) {
  return 1 / std::sqrt(variance + static_cast<double>(in.attrs<BatchNormAttrs>().epsilon));
}

Literal normalised(const EvalArgs& in, const Numbers& x, const Statistics& statistics,
                   const Shape& result) {
  const ByFeature by(in[0].shape(), in.attrs<BatchNormAttrs>().feature_index);
  const Numbers scale = numbers_of<double>(in[1]), offset = numbers_of<double>(in[2]);
  Numbers y(x.size());
  for (int64_t f = 0; f < by.features(); ++f) {
    const auto k = static_cast<size_t>(f);
    const double r = reciprocal_deviation(statistics.variance[k], in);
    by.each(f, [&](size_t i) { y[i] = (x[i] - statistics.mean[k]) * r * scale[k] + offset[k]; });
  }
  return rounded(y, result);
}

StatusOr<Literal> evaluate_training(EvalArgs& in) {
  const Numbers x = numbers_of<double>(in[0]);
  const Statistics statistics =
      statistics_of(x, ByFeature(in[0].shape(), in.attrs<BatchNormAttrs>().feature_index));
  const Shape& result = in.result();
  return Literal::tuple({normalised(in, x, statistics, result.element(0)),
                         rounded(statistics.mean, result.element(1)),
                         rounded(statistics.variance, result.element(2))});
}

StatusOr<Literal> evaluate_inference(EvalArgs& in) {
  return normalised(in, numbers_of<double>(in[0]),
                    {numbers_of<double>(in[3]), numbers_of<double>(in[4])}, in.result());
}

StatusOr<Literal> evaluate_grad(EvalArgs& in) {
  const ByFeature by(in[0].shape(), in.attrs<BatchNormAttrs>().feature_index);
  const Numbers x = numbers_of<double>(in[0]), scale = numbers_of<double>(in[1]),
                mean = numbers_of<double>(in[2]);
  const Numbers variance = numbers_of<double>(in[3]), grad = numbers_of<double>(in[4]);
  Numbers of_x(x.size()), of_scale, of_offset;
  for (int64_t f = 0; f < by.features(); ++f) {
    const auto k = static_cast<size_t>(f);
    const double r = reciprocal_deviation(variance[k], in);
    double sum = 0, sum_z = 0;
    by.each(f, [&](size_t i) {
      sum += grad[i];
      sum_z += grad[i] * (x[i] - mean[k]) * r;
    });
    by.each(f, [&](size_t i) {
      of_x[i] =
          scale[k] * r * (grad[i] - sum / by.count() - (x[i] - mean[k]) * r * sum_z / by.count());
    });
    of_scale.push_back(sum_z);
    of_offset.push_back(sum);
  }
  const Shape& result = in.result();
  return Literal::tuple({rounded(of_x, result.element(0)), rounded(of_scale, result.element(1)),
                         rounded(of_offset, result.element(2))});
}

}  // namespace

const Evaluation kBatchNormTrainingEvaluation = {.evaluate = evaluate_training};
const Evaluation kBatchNormInferenceEvaluation = {.evaluate = evaluate_inference};
const Evaluation kBatchNormGradEvaluation = {.evaluate = evaluate_grad};

}  // namespace heddle::interpreter
