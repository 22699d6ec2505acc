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
// the derivatives of section 3; XLA's operation semantics for the operands.
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

constexpr std::string_view kForward[] = {"x", "scale", "offset", "mean", "variance"};
constexpr std::string_view kGrad[] = {"x", "scale", "mean", "variance", "grad"};

}  // namespace

const OpDef kBatchNormTrainingDef = {Opcode::kBatchNormTraining, kForward, kOpaque, infer_training};
const OpDef kBatchNormInferenceDef = {
    Opcode::kBatchNormInference, kForward, {Work::kStays, Rows::kByRule, kPlain}, infer_inference};
const OpDef kBatchNormGradDef = {Opcode::kBatchNormGrad, kGrad, kOpaque, infer_grad};

}  // namespace heddle::hlo
