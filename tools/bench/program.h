// Programs of `heddle bench`, with their inputs and expected results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"

namespace heddle::tools {

struct ExpectedOutput {
  Literal samples;  // every stride-th element of the flat output; not valid: unknown
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
  std::vector<ExpectedOutput> expected;  // one a leaf of the result; empty: unknown
};

// Reads a folder with module.hlo.txt and meta.json, whose inputs and outputs are generated or in
// inN.npy and outN.npy beside it; or a program as load_program() does, with the inputs of its case,
// or zeros.
// errors   NotFound; InvalidArgument for a meta.json that cannot be read or does not fit the
//          program, and for inputs with another checksum
[[nodiscard]] StatusOr<BenchProgram> load_bench_program(const std::string& path);

}  // namespace heddle::tools
