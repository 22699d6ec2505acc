// The backend `interpreter`: the evaluator (interpreter/evaluate.h) behind the interfaces of
// runtime/backend.h. The oracle, and the first backend; it reads every stage of HLO, scan too. A
// program that includes this header, or heddle/heddle.h, has it without a call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "heddle/runtime/backend.h"
#include "heddle/runtime/registry.h"

namespace heddle::interpreter {

struct Options {
  // False: a run is done when execute() returns, on the caller's thread, and its error is
  // execute()'s. True: each device has a thread that runs in the order of the calls; results are
  // pending, and carry the error.
  bool asynchronous = false;
  int devices = 1;
  // Runs take subnormal numbers for zero. HEDDLE_FLUSH_SUBNORMALS=1.
  bool flushes_subnormals = false;
  // Of rng (RunOptions): the backend's first run has this seed, each one after it the next.
  uint64_t seed = 0;
  // Called before each run, where it runs: lets a test hold the device, or fail a run by an error.
  std::function<Status()> before_run = nullptr;
};

[[nodiscard]] std::unique_ptr<runtime::Backend> make_backend(const Options& options = {});

[[nodiscard]] StatusOr<std::unique_ptr<runtime::Backend>> make_known(std::string_view argument);
// Makes "interpreter" known to the registry, which refers to it weakly.
[[gnu::used]] inline constinit const runtime::LinkedBackend kFamily{"interpreter", make_known};

}  // namespace heddle::interpreter
