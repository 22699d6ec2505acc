// Convolutions that give few features.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a convolution of many features to a few, such as the last one of a decoder or the gradient
// of an image, as one product of matrices: each place of x by the weights of every tap and feature,
// with the places in lanes. The products of the taps are then shifted and added. A loop over places
// would have as many lanes as there are features.
[[nodiscard]] StatusOr<hlo::Module> multiply_taps(const hlo::Module& module);

}  // namespace heddle::cpu
