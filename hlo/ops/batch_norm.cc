// batch-norm-training(x, scale, offset) -> (y, mean, variance); batch-norm-inference(x, scale,
// offset, mean, variance) -> y; batch-norm-grad(x, scale, mean, variance, grad) -> (grad of x, of
// scale, of offset). Statistics are over all dimensions of x but feature_index; n is the number of
// elements that a feature has.
//
//   training   mean = sum(x) / n, variance = sum((x - mean)^2) / n,
//              y = (x - mean) / sqrt(variance + epsilon) scale + offset
//   inference  the same y, of the given mean and variance
//   grad       with r = 1 / sqrt(variance + epsilon) and z = (x - mean) r: of offset = sum(grad),
//              of scale = sum(grad z), of x = scale r (grad - of offset / n - z of scale / n)
//
// Source: S. Ioffe and C. Szegedy, Batch Normalization, 2015 (arXiv:1502.03167), algorithm 1 and
// the derivatives of section 3; XLA's operation semantics for the operands. Computed in f64, and
// rounded once to the element types.
#include <cmath>

#include "heddle/hlo/blocks.h"
#include "heddle/hlo/ops/rules.h"

namespace heddle::hlo {
namespace {

// Operand i is a vector with one value for each feature.
Status check_features(const InferArgs& in, size_t i, int64_t features) {
  HEDDLE_RETURN_IF_ERROR(check_rank(in, i, 1));
  if (in[i].dimension(0) == features) return {};
  return in.error(operand_name(in, i), " is ", in[i], "; must have ", features,
                  " elements, one for each feature of x ", in[0]);
}

Status check_x(const InferArgs& in, size_t vectors) {
  HEDDLE_RETURN_IF_ERROR(check_sized(in, 0));
  int64_t feature = in.attrs<BatchNormAttrs>().feature_index;
  HEDDLE_RETURN_IF_ERROR(check_dimension(in, "feature_index", feature, in[0].rank()));
  if (!is_floating(in[0].dtype())) return in.error("x is ", in[0], "; must be of floats");
  for (size_t i = 1; i <= vectors; ++i) {
    HEDDLE_RETURN_IF_ERROR(check_features(in, i, in[0].dimension(feature)));
  }
  return {};
}

StatusOr<Shape> infer_training(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_x(in, 2));
  return check_declared(in, Shape::tuple({in[0], in[1], in[1]}));
}

StatusOr<Shape> infer_inference(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_x(in, 4));
  return check_declared(in, in[0]);
}

StatusOr<Shape> infer_grad(const InferArgs& in) {
  HEDDLE_RETURN_IF_ERROR(check_x(in, 3));
  HEDDLE_RETURN_IF_ERROR(check_array(in, 4));
  if (!same_dimensions(in[4], in[0])) {
    return in.error("grad is ", in[4], "; its dimensions must be those of x, ", in[0]);
  }
  return check_declared(in, Shape::tuple({in[0], in[1], in[1]}));
}

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

Numbers numbers_of(const Literal& x) {
  Numbers out(static_cast<size_t>(x.element_count()));
  load(x.shape().dtype(), x.bytes(), x.element_count(), out.data());
  return out;
}

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
  const Numbers scale = numbers_of(in[1]), offset = numbers_of(in[2]);
  Numbers y(x.size());
  for (int64_t f = 0; f < by.features(); ++f) {
    const auto k = static_cast<size_t>(f);
    const double r = reciprocal_deviation(statistics.variance[k], in);
    by.each(f, [&](size_t i) { y[i] = (x[i] - statistics.mean[k]) * r * scale[k] + offset[k]; });
  }
  return rounded(y, result);
}

StatusOr<Literal> evaluate_training(EvalArgs& in) {
  const Numbers x = numbers_of(in[0]);
  const Statistics statistics =
      statistics_of(x, ByFeature(in[0].shape(), in.attrs<BatchNormAttrs>().feature_index));
  const Shape& result = in.result();
  return Literal::tuple({normalised(in, x, statistics, result.element(0)),
                         rounded(statistics.mean, result.element(1)),
                         rounded(statistics.variance, result.element(2))});
}

StatusOr<Literal> evaluate_inference(EvalArgs& in) {
  return normalised(in, numbers_of(in[0]), {numbers_of(in[3]), numbers_of(in[4])}, in.result());
}

StatusOr<Literal> evaluate_grad(EvalArgs& in) {
  const ByFeature by(in[0].shape(), in.attrs<BatchNormAttrs>().feature_index);
  const Numbers x = numbers_of(in[0]), scale = numbers_of(in[1]), mean = numbers_of(in[2]);
  const Numbers variance = numbers_of(in[3]), grad = numbers_of(in[4]);
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

constexpr std::string_view kForward[] = {"x", "scale", "offset", "mean", "variance"};
constexpr std::string_view kGrad[] = {"x", "scale", "mean", "variance", "grad"};

}  // namespace

const OpDef kBatchNormTrainingDef = {
    .opcode = Opcode::kBatchNormTraining,
    .operand_names = kForward,
    .infer = infer_training,
    .evaluate = evaluate_training,
};

const OpDef kBatchNormInferenceDef = {
    .opcode = Opcode::kBatchNormInference,
    .operand_names = kForward,
    .infer = infer_inference,
    .evaluate = evaluate_inference,
};

const OpDef kBatchNormGradDef = {
    .opcode = Opcode::kBatchNormGrad,
    .operand_names = kGrad,
    .infer = infer_grad,
    .evaluate = evaluate_grad,
};

}  // namespace heddle::hlo
