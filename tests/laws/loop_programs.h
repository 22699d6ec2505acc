// Random programs of loops, branches and arrays, nested in each other, on f64.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::laws {

struct LoopProgram {
  hlo::Module module;              // f64[], f64[3], f64[3] -> f64, f64
  std::string text;                // short
  bool has_while = false;          // without a bound: it has forward mode only
  std::vector<Literal> arguments;  // in -1 .. 1
};
// The same for the same seed.
LoopProgram loop_program(int seed);

// Numbers in -1 .. 1; more of them for another `salt`.
std::vector<Literal> loop_arguments(int seed, int salt);

// The seeds first .. last - 1: 0 .. count - 1, or what HEDDLE_RANDOM_PROGRAMS=FIRST:LAST says.
std::pair<int, int> seeds(int count);

}  // namespace heddle::laws
