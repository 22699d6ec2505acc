// Backends that take turns with one program in one process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/runtime/backend.h"
#include "heddle/tools/bench/program.h"

namespace heddle::tools {

struct BenchBackend {
  std::string name;  // as the user wrote it
  runtime::Device* device = nullptr;
  runtime::CompileOptions options;
  // A module that it compiles in place of the program: another way to write it.
  std::shared_ptr<const hlo::Module> instead = {};
};

// A backend or device by name. `+loops` behind that of a PJRT plugin lets XLA compile loops of any
// size to one kernel. Compiles a small program, so that the backend has done its one-time work.
// errors   those of the backend
[[nodiscard]] StatusOr<BenchBackend> open_bench_backend(const std::string& name);

struct BenchTimes {
  double seconds = 0.3;  // the least of each backend; no turn begins after ten times that
  int rounds = 5;        // the least, as far as ten times `seconds` go
  StopToken stop = {};   // ends all of them, as soon as each can
};

struct Measurement {
  std::string backend;
  std::optional<double> call_ns_min, call_ns_median, compile_ms;
  std::optional<int64_t> peak_bytes;
  bool agrees = false;
  // The results differ, by no more than twice what moved() arguments change.
  bool sensitive = false;
  std::string error;  // of compiling or running, or the difference
};

// Compiles and runs the program on each backend, one after the other, and compares the results.
// Then they run in turns, each waiting for its results, until all have had their time. Arguments
// are uploaded before the clock starts, those that may be donated before each run.
[[nodiscard]] std::vector<Measurement> measure(const BenchProgram& program,
                                               const std::vector<BenchBackend>& backends,
                                               const BenchTimes& times);

}  // namespace heddle::tools
