// Convolutions whose window is greater than their image.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Exchanges the operands of a convolution whose window has many more places than the image, as the
// gradient of a gradient of weights has it: most taps of each place fall beside the image. The
// image is the window then, and each place of the result is where it ends instead of where it
// begins. An image with an infinite element or a NaN stays the image where the exchange would
// multiply it by zeros around the window.
[[nodiscard]] StatusOr<hlo::Module> swap_convolutions(const hlo::Module& module);

}  // namespace heddle::cpu
