// The backend `interpreter`: the evaluator (hlo/evaluate.h) behind the interfaces of
// runtime/backend.h. The oracle, and the first backend; it reads every stage of HLO, scan too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "heddle/runtime/backend.h"

namespace heddle::runtime {

class HostProgram;  // runtime/host_backend.h

struct InterpreterOptions {
  // False: a run is done when execute() returns, on the caller's thread, and its error is
  // execute()'s. True: each device has a thread that runs in the order of the calls; results are
  // pending, and carry the error.
  bool asynchronous = false;
  int devices = 1;
  // Of rng (hlo::RunOptions): the backend's first run has this seed, each one after it the next.
  uint64_t seed = 0;
  // Called before each run, where it runs: lets a test hold the device, or fail a run by an error.
  std::function<Status()> before_run = nullptr;
};

[[nodiscard]] std::unique_ptr<Backend> make_interpreter(const InterpreterOptions& options = {});

// The evaluator's programs, of modules as they were traced, for a backend that leaves some to it.
// Each run has the next seed.
using PrepareProgram =
    std::function<StatusOr<std::shared_ptr<const HostProgram>>(const ModulePtr& module)>;
[[nodiscard]] PrepareProgram make_evaluator_programs();

}  // namespace heddle::runtime
