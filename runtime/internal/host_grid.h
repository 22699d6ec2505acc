// Devices of host memory as one SpmdExecutable: tiles are put together to whole arrays, on which a
// GridProgram runs, and its results are cut into tiles.
#pragma once

#include <memory>

#include "heddle/hlo/module.h"
#include "heddle/runtime/host/host_backend.h"

namespace heddle::runtime {

// For devices whose buffers are LiteralBuffers. A run waits for its arguments and is done when
// execute() returns.
// errors   Unimplemented for parameters that are tuples; those of entry_shardings(), tile_shapes()
[[nodiscard]] StatusOr<std::shared_ptr<SpmdExecutable>> make_host_grid(const hlo::Module& module,
                                                                       GridProgram program,
                                                                       const DeviceGrid& grid);

}  // namespace heddle::runtime
