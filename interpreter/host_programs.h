// The evaluator's programs, of modules as they were traced, for a backend of host memory that
// leaves some to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/host/host_backend.h"

namespace heddle::interpreter {

struct Seat;  // interpreter/rendezvous.h

using PrepareProgram =
    std::function<StatusOr<std::shared_ptr<const runtime::HostProgram>>(
        const runtime::ModulePtr& module)>;

// Each run of a backend's programs has the next seed.
using Seeds = std::shared_ptr<std::atomic<uint64_t>>;
[[nodiscard]] inline Seeds seeds_from(uint64_t first) {
  return std::make_shared<std::atomic<uint64_t>>(first);
}

// `before_run` is called before each run, or null.
[[nodiscard]] PrepareProgram make_programs(Seeds seeds,
                                           std::function<Status()> before_run = nullptr);

// What one device of several computes: of whole arguments the whole result, or its leaves.
using DeviceProgram = std::function<StatusOr<Literal>(
    const Seat& seat, std::vector<Literal> arguments, uint64_t seed)>;

// A run of all devices; partitions that would compute the same values run once.
[[nodiscard]] runtime::GridProgram make_grid_program(const hlo::Module& module,
                                                     const runtime::DeviceGrid& grid, Seeds seeds,
                                                     DeviceProgram program);

// For HostBackend::prepare_for_grid(). Of whole arrays: the evaluator knows what a partition
// computes.
[[nodiscard]] StatusOr<runtime::GridProgram> prepare_for_grid(const hlo::Module& module,
                                                              const runtime::DeviceGrid& grid,
                                                              Seeds seeds);

}  // namespace heddle::interpreter
