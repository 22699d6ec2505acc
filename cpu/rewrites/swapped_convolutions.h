// Convolutions whose window is greater than their image.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Exchanges the operands of a convolution where the window has more places than the image, as the
// gradient of a gradient of weights has it: most taps of each place fall beside the image. The
// image is the window then, and each place of the result is where it ends instead of where it
// begins.
[[nodiscard]] StatusOr<hlo::Module> swap_convolutions(const hlo::Module& module);

}  // namespace heddle::cpu
