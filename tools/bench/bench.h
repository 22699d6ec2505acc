// `heddle bench`: programs on several backends, side by side.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/tools/bench/measure.h"

namespace heddle::tools {

struct BenchCommand {
  std::vector<std::string> programs;  // paths
  std::vector<std::string> backends;  // the first one is compared with the best of the others
  BenchTimes times;
  std::string json;  // a file for one line a program and backend; empty: none
  // False: where XLA's CPU backend, which flushes subnormal numbers, is among the backends, cpu,
  // the interpreter and the loops by hand flush them too. True: they compute as configured.
  bool keeps_subnormals = false;
};

// Prints the table. Returns the exit code: 0 if all programs run and agree on all backends. errors
// of a backend that cannot be used, or of the file. The table names a program that cannot be read
[[nodiscard]] StatusOr<int> run_bench(const BenchCommand& command);

}  // namespace heddle::tools
