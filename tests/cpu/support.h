// Programs on the native backend beside the evaluator.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/module.h"
#include "heddle/runtime/backend.h"

namespace heddle::cpu {

// Both live as long as the process. The second one checks every access of machine code.
runtime::Device& cpu_device();
runtime::Device& checked_device();

// The code generator's library could be loaded. Without it every program is evaluated.
bool has_code_generator();
#define HEDDLE_NEEDS_CODE_GENERATOR()       \
  if (!::heddle::cpu::has_code_generator()) \
  GTEST_SKIP() << "the code generator could not be loaded: install LLVM 19, build again"

// How far apart floats may be. An element passes if either rule does.
struct Allowed {
  int64_t ulp = 0;        // representable values between
  double share = 0;       // of the larger one of the leaf's largest values
  bool any_zero = false;  // -0 is as good as 0
};

// Empty, or the first element that is too far off. NaN is NaN; other types have equal bits, parts
// of complex numbers follow the rule of their type.
std::string difference(const Literal& got, const Literal& want, const Allowed& allowed = {});

// A program compiled for the device.
class OnCpu {
 public:
  explicit OnCpu(const hlo::Module& module, runtime::Device& device = cpu_device());
  // All arguments donated, or none.
  Literal run(const std::vector<Literal>& arguments, bool donated = false) const;

 private:
  runtime::Device& device_;
  std::shared_ptr<runtime::Executable> program_;
  Shape result_;
};

// Small whole numbers of the parameters' types, the same in every run.
std::vector<Literal> arguments_of(const hlo::Module& module);

// Runs the module natively, with and without donation and checks of bounds, on arguments_of(): all
// give the evaluator's value, and arguments that are not donated keep theirs. Skips the test where
// there is no code generator.
void expect_as_evaluated(std::string_view text, const Allowed& allowed = {});

// The first number of a random program and the one behind the last: 0 and `programs`, or what
// HEDDLE_RANDOM_PROGRAMS says, LAST or FIRST:LAST.
std::pair<uint64_t, uint64_t> random_numbers(uint64_t programs);

}  // namespace heddle::cpu
