// The evaluator's programs, of modules as they were traced, for a backend of host memory that
// leaves some to it.
#pragma once

#include <functional>
#include <memory>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/host/host_backend.h"

namespace heddle::interpreter {

using PrepareProgram =
    std::function<StatusOr<std::shared_ptr<const runtime::HostProgram>>(
        const runtime::ModulePtr& module)>;

// Each run has the next seed, the first one `seed`. `before_run` is called before each, or null.
[[nodiscard]] PrepareProgram make_programs(std::function<Status()> before_run = nullptr,
                                           uint64_t seed = 0);

// For HostBackend::prepare_for_grid(). Of whole arrays: the evaluator knows what a partition
// computes.
[[nodiscard]] StatusOr<runtime::GridProgram> prepare_for_grid(const hlo::Module& module,
                                                              const runtime::DeviceGrid& grid);

}  // namespace heddle::interpreter
