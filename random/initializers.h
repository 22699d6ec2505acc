// First weights of networks. Names, formulas and bits are those of jax.nn.initializers, but for the
// last one or two bits of orthogonal_weights.
//
// key      u32[2] (random/keys.h)
// shape    of the weights, by default [.., inputs, outputs]; axes before them are a convolution's
//          window, and count as inputs and as outputs
// dtype    f16, bf16, f32 or f64
// errors   all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
//          and the caller's line
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/int.h"
#include "heddle/random/continuous.h"

namespace heddle::random {

// The divisor of the variance: inputs, outputs, their mean, or their geometric mean.
enum class Fan : uint8_t { kIn, kOut, kAverage, kGeometric };
// kTruncatedNormal is cut off at two deviations, and widened to keep the variance.
enum class WeightDistribution : uint8_t { kTruncatedNormal, kNormal, kUniform };

// Weights of variance scale / fan and mean 0. Axes that are neither inputs nor outputs nor batches
// (each for itself) are a window. source: jax.nn.initializers.variance_scaling
struct VarianceScaling {
  double scale = 1;
  Fan fan = Fan::kIn;
  WeightDistribution distribution = WeightDistribution::kTruncatedNormal;
  base::Ints in_axes = {-2};
  base::Ints out_axes = {-1};
  base::Ints batch_axes = {};
};
// Weights of variance scale / fan and mean 0.
Tensor variance_scaling(Operand key, const base::Ints& shape, const VarianceScaling& how = {},
                        DType dtype = f32);

// Scale 1 and the mean of inputs and outputs. source: Glorot, Bengio 2010
Tensor glorot_uniform(Operand key, const base::Ints& shape, DType dtype = f32);
// Truncated normal weights of scale 1 and the mean of inputs and outputs.
Tensor glorot_normal(Operand key, const base::Ints& shape, DType dtype = f32);
// Scale 2 and the inputs, for layers before a relu. source: He et al. 2015
Tensor he_uniform(Operand key, const base::Ints& shape, DType dtype = f32);
// Truncated normal weights of scale 2 and the inputs.
Tensor he_normal(Operand key, const base::Ints& shape, DType dtype = f32);
// Scale 1 and the inputs. source: LeCun et al. 1998
Tensor lecun_uniform(Operand key, const base::Ints& shape, DType dtype = f32);
// Truncated normal weights of scale 1 and the inputs.
Tensor lecun_normal(Operand key, const base::Ints& shape, DType dtype = f32);

// `scale` times orthonormal columns (or rows, where there are fewer) of the matrix that the weights
// are with one axis as columns and all others as rows: f32 or f64. source: Saxe et al. 2013
Tensor orthogonal_weights(Operand key, const base::Ints& shape, double scale = 1,
                          base::Int axis = -1, DType dtype = f32);

}  // namespace heddle::random
