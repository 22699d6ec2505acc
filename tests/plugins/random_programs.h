// Random programs of the public functions, and what real XLA makes of them beside the evaluator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/backend.h"

namespace heddle::random_programs {

struct Program {
  hlo::Module module;
  std::vector<Literal> arguments;
  std::vector<double> errors;  // of each result: what floats may differ by; below 0: not known
  std::vector<std::string> refused;  // "step: message": steps that the library refused
};

// The program of a number: the same in every run.
Program make_program(uint64_t seed);

enum class Outcome : uint8_t {
  kAgrees,
  kDiffers,
  kRefused,  // the plugin does not compile or run it
  kEnded,    // the process ended, or the program did not end
};

struct Finding {
  Outcome outcome = Outcome::kAgrees;
  std::string message;
};

// Runs it on both devices, in this process.
Finding compare(const Program& program, runtime::Device& ours, runtime::Device& xla);

// Compares programs `first` .. `last` - 1 in processes of their own, one after the other: each has
// the plugin to itself until a program ends it, and then the next goes on behind that program.
// Calls `report` for each that does not agree, and `refused` for each step that was left out of a
// program since the library refused it. The calling process must have no threads.
void compare_in_workers(uint64_t first, uint64_t last, const std::string& library,
                        const std::function<void(uint64_t seed, const Finding&)>& report,
                        const std::function<void(const std::string& step)>& refused);

// The least part of the program that was found to be the same by the test: fewer results, and
// instructions that became arguments.
Program shrunk(Program program, const std::function<bool(const Program&)>& same);
// The same outcome. Each try is a process.
Program shrunk(Program program, Outcome outcome, const std::string& library);

}  // namespace heddle::random_programs
