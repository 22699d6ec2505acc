// The evaluator as several devices behind runtime/spmd.h.
#pragma once

#include <memory>

#include "heddle/hlo/evaluate.h"
#include "heddle/runtime/spmd.h"

namespace heddle::runtime {

// For devices whose buffers are LiteralBuffers. A run waits for its arguments and is done when
// execute() returns.
// errors   Unimplemented for parameters that are tuples; those of entry_shardings(), tile_shapes()
[[nodiscard]] StatusOr<std::shared_ptr<SpmdExecutable>> make_joint_interpreter(
    hlo::Evaluator evaluator, const DeviceGrid& grid);

}  // namespace heddle::runtime
