// Transposed convolutions: those of an image with holes between its elements.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a convolution of a dilated image to a few features as one of the image as it is, whose
// features are those of every phase, that is of the places that see the same taps beside holes;
// the phases are then put between each other. Holes cost nothing then, and vectors hold several
// phases. (Shi et al., Is the deconvolution layer the same as a convolutional layer?, 2016)
[[nodiscard]] StatusOr<hlo::Module> join_phases(const hlo::Module& module);

}  // namespace heddle::cpu
