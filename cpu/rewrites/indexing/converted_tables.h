// Gathers of tables that are converted to wider elements.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes a gather of long rows of a conversion as a conversion of the rows, so that no array of the
// wider elements lies in memory: image.astype(s32)[rows] of bytes. Tables of which every element is
// taken several times stay.
[[nodiscard]] StatusOr<hlo::Module> convert_what_is_taken(const hlo::Module& module);

}  // namespace heddle::cpu
