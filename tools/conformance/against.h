// Two devices on the same new inputs: one judges the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/runtime/backend.h"
#include "heddle/tools/conformance/backend.h"
#include "heddle/tools/conformance/pack.h"

namespace heddle::conformance {

enum class Agreement : uint8_t {
  kAgrees,
  kDiffers,
  kSensitive,  // differs, and a change of the arguments' last bits moves the result as far
  kSkipped,    // could not be compared
};
std::string_view to_string(Agreement agreement);

struct Comparison {
  Agreement agreement = Agreement::kAgrees;
  std::string message;  // the difference and its draw; why it was skipped
};

// The corpus's tolerance for floats of this program: a relative part by type, and an absolute part.
// That is the least normal number, or, in programs with sums (loops, reductions, products,
// scatters, calls), a twentieth of the relative part times the largest value.
[[nodiscard]] Tolerance tolerance_of(const hlo::Module& module, const Literal& want);

struct AgainstOptions {
  uint64_t seed = 0;
  int draws = 1;  // sets of arguments a case
};

// Runs the case's program on both with fresh_arguments() and compares by the case's rules, made
// anew for these values as the corpus made them: `atol` keeps its share of the largest value, and
// covers 8 times (types of 8 and 16 bits: 2 times) the change that nudged() arguments make on
// either device, up to the corpus's own bounds; and in sums 16 subnormal terms. Cases of
// StableHLO's tests have a rule for one input only, so they get the numbers of the other corpora.
// So do cases with custom calls, where the corpus asks for the bits of LAPACK, which neither device
// has. Subnormals are flushed, as XLA does. A case has the outcome of its worst draw.
[[nodiscard]] Comparison compare_on_fresh(const Case& item, const hlo::Module& module,
                                          const Compiled& ours, const Compiled& judge,
                                          const AgainstOptions& options = {});

// The same, compiled first. It skips a case that one of them does not offer.
[[nodiscard]] Comparison compare_on_fresh(const Case& item, runtime::Device& ours,
                                          runtime::Device& judge,
                                          const AgainstOptions& options = {});

}  // namespace heddle::conformance
