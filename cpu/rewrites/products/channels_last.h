// Convolutions whose features lie side by side.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes convolutions whose spatial dimensions lie last, such as those of f32[batch,features,
// height,width], with the features last and transposes around them, where the kernels gain more
// than the transposes take: windows of several places and many features on both sides. Transposes
// between two such convolutions go in later passes.
[[nodiscard]] StatusOr<hlo::Module> put_channels_last(const hlo::Module& module);

}  // namespace heddle::cpu
