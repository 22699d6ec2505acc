// The backend `cpu`: whole programs, loops included, compiled to machine code.
//
// A module is lowered to a plan (codegen/plan/plan.h): a loop of HLO is a loop of the machine,
// values of one element stand in registers, arrays in one block of memory whose places are fixed
// when it is compiled. What a plan does not hold (sort, fft, decompositions) is called as a kernel,
// from inside of the loops around it. Programs with tokens or dynamic sizes, and
// those that exchange values with the host while they run, are the evaluator's. See docs/cpu.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/interpreter/backend.h"
#include "heddle/runtime/registry.h"

namespace heddle::hlo {
struct Module;
}

namespace heddle::cpu {

struct CpuOptions {
  bool asynchronous = false;  // as interpreter::Options'
  int devices = 1;
  bool flushes_subnormals = false;  // as interpreter::Options'; HEDDLE_FLUSH_SUBNORMALS=1
  // A folder for the stages of each program that is compiled; empty: none. HEDDLE_DUMP.
  std::string dump_folder = {};
  // Names machine code for `perf`, in /tmp/perf-PID.map. HEDDLE_PERF=1.
  bool names_code = false;
  // An access of machine code outside of an array's place ends the run with an error: a bug in
  // Heddle. Programs take up to a fifth longer. HEDDLE_CPU_CHECKS=1.
  bool checks_bounds = false;
  // The loops of programs are spans of a profile (base/metrics/profile.h). HEDDLE_PROFILE_LOOPS=1;
  // for one program CompileOptions{.backend_options = {{"profile_loops", "true"}}}.
  bool profiles_loops = false;
};

[[nodiscard]] std::unique_ptr<runtime::Backend> make_cpu(const CpuOptions& options = {});

// For people: the stages of a module on its way to machine code.
struct Stages {
  std::string plan;
  std::string llvm;
  std::string assembly;
};

// errors: Unimplemented where the evaluator would run it; NotFound without LLVM
[[nodiscard]] StatusOr<Stages> stages_of(const hlo::Module& module);

// What was compiled, or read from the disk cache, in this process.
struct Statistics {
  int64_t native = 0;     // programs
  int64_t evaluated = 0;  // programs that the evaluator runs as a whole
  int64_t foreign = 0;    // of the native ones: LLVM loaded their code itself, so no disk keeps it
};
[[nodiscard]] Statistics statistics();

// With the options that the environment has, named above.

StatusOr<std::unique_ptr<runtime::Backend>> make_known(std::string_view argument);

// Makes "cpu" known to the registry, which refers to it weakly.
[[gnu::used]] inline constinit const runtime::LinkedBackend kFamily{"cpu", make_known};

}  // namespace heddle::cpu
