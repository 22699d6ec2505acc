// Normalisations: means to 0, variances to 1.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "heddle/base/containers/ints.h"
#include "heddle/base/flag.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::nn {

// (x - mean) / sqrt(variance + epsilon) over `axes`; the variance is of deviations from the mean.
struct Standardization {
  base::OnlyByName by_name = base::OnlyByName();  // {0, 1} could be two axes
  base::Ints axes = {-1};  // negative ones count from the end
  double epsilon = 1e-5;
};
// (x - mean) / sqrt(variance + epsilon) over axes.
Tensor standardize(Operand x, const Standardization& over = {});
// standardize over one axis: standardize(x, -1).
template <std::integral Axis>
Tensor standardize(Operand x, Axis axis) {
  return standardize(x, {.axes = axis});
}

// Layer normalisation: standardize, then `* scale + bias`, which broadcast to x (over the last
// axis: of shape [size]). RMS normalisation: x / sqrt(mean(x * x) + epsilon), then likewise. Means
// are taken in f32 at least; the result has the dtype of x, and so must scale and bias. source: Ba,
// Kiros, Hinton 2016; Zhang, Sennrich 2019
struct Norm {
  base::OnlyByName by_name = base::OnlyByName();  // likewise
  base::Ints axes = {-1};
  Tensor scale = {};  // none: 1
  Tensor bias = {};   // none: 0
  double epsilon = 1e-6;
};
Tensor layer_norm(Operand x, const Norm& norm = {});  // standardize, then `* scale + bias`
Tensor rms_norm(Operand x, const Norm& norm = {});    // RMS normalisation, likewise
// layer_norm over one axis: layer_norm(x, -1).
template <std::integral Axis>
Tensor layer_norm(Operand x, Axis axis) {
  return layer_norm(x, {.axes = axis});
}
// rms_norm over one axis: rms_norm(x, -1).
template <std::integral Axis>
Tensor rms_norm(Operand x, Axis axis) {
  return rms_norm(x, {.axes = axis});
}
template <std::same_as<Tensor> Scale, class... More>
Tensor layer_norm(Operand, const Scale&, const More&...) {
  static_assert(!sizeof(Scale), "write layer_norm(x, {.scale = scale, .bias = bias})");
  return {};
}
template <std::same_as<Tensor> Scale, class... More>
Tensor rms_norm(Operand, const Scale&, const More&...) {
  static_assert(!sizeof(Scale), "write rms_norm(x, {.scale = scale})");
  return {};
}

}  // namespace heddle::nn
