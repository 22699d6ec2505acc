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
  std::vector<Literal> arguments;  // in -1 .. 1, where the program is smooth
  int salt = 0;                    // of loop_arguments: the first whose arguments are smooth
  int redrawn = 0;                 // programs that have been left out, as none of 8 were
};
// The same for the same seed.
LoopProgram loop_program(int seed);

// Numbers in -1 .. 1; more of them for another `salt`.
std::vector<Literal> loop_arguments(int seed, int salt);

// Whether the module, of f64, has no kinks and jumps within about 1e-4 of the arguments. It says so
// by values alone: differences of fourth order are small.
bool is_smooth_at(const hlo::Module& module, const std::vector<Literal>& arguments);

// The seeds first .. last - 1: 0 .. count - 1, or what HEDDLE_RANDOM_PROGRAMS=FIRST:LAST says.
std::pair<int, int> seeds(int count);

}  // namespace heddle::laws
