// Programs of `heddle bench`: with inputs that are made, and what they must give.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::tools {

struct ExpectedOutput {
  Literal samples;  // every stride-th element of the flat output; not valid: none is known
  int64_t stride = 1;
  std::optional<double> sum, abs_sum, l2;  // of all elements, in f64
};

struct BenchProgram {
  std::string name;
  hlo::Module module;
  int64_t steps = 1;  // units of a call
  std::string unit = "call";
  std::vector<Literal> arguments;        // one a leaf of the parameters
  std::vector<int> donate;               // arguments whose memory a run may take
  std::vector<ExpectedOutput> expected;  // one a leaf of the result; none: nothing is known
};

// Reads a folder with module.hlo.txt and meta.json, whose inputs and outputs are generated or stand
// in inN.npy and outN.npy beside it; or a program as load_program() does, whose inputs are those of
// its case, or zeros.
// errors   NotFound; InvalidArgument for a meta.json that cannot be read or does not fit the
//          program, and for inputs whose checksum is another
[[nodiscard]] StatusOr<BenchProgram> load_bench_program(const std::string& path);

}  // namespace heddle::tools
