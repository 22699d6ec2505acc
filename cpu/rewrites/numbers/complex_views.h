// Complex arrays that loops read slice by slice.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Hands a loop whose turns read slices of the parts of a complex array, as a scan over complex
// inputs does, the array as it lies: f32[.., 2], a bitcast-convert that takes no time. The parts
// of the whole array are not made before the loop then, and a turn takes those of its slice. The
// module is flat, and its complex arrays are split.
[[nodiscard]] StatusOr<hlo::Module> view_complex_inputs(const hlo::Module& module);

}  // namespace heddle::cpu
