// Pads of images with few features.
#pragma once

#include <optional>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Joins the short last dimensions that a pad leaves as they are with the one before: rows of 32
// pixels of 3 features are padded as rows of 96 elements. It is done where the pad has a place in
// memory anyway, as below a gather. Returns nothing where the module has no such pad.
[[nodiscard]] StatusOr<std::optional<hlo::Module>> join_padded_rows(const hlo::Module& module);

}  // namespace heddle::cpu
