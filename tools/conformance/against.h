// Two devices on the same new inputs: one is the judge of the other.
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
  std::string message;  // what differs and on which draw; why it was skipped
};

// What the corpus would allow a result of floats of this program: relative by type, and an absolute
// part, which is the least normal number, or, in programs with sums (loops, reductions, products,
// scatters, calls), a twentieth of the relative one times the largest value.
[[nodiscard]] Tolerance tolerance_of(const hlo::Module& module, const Literal& want);

struct AgainstOptions {
  uint64_t seed = 0;
  int draws = 1;  // sets of arguments a case
};

// Runs the case's program on both on fresh_arguments() and compares by the case's rules, made anew
// for these values as those of the corpus were made: `atol` keeps its share of the largest value,
// and covers 8 times (types of 8 and 16 bits: 2 times) the change that nudged() arguments make on
// either device, up to the corpus's own bounds; and in sums 16 subnormal terms. Cases of
// StableHLO's tests, whose own rule is for one input, get the numbers of the other corpora, and so
// do those with custom calls, where the corpus asks for the bits of LAPACK, which neither device
// is. Subnormals are flushed, as XLA does. A case whose draws do not all agree has the outcome of
// the worst.
[[nodiscard]] Comparison compare_on_fresh(const Case& item, const hlo::Module& module,
                                          const Compiled& ours, const Compiled& judge,
                                          const AgainstOptions& options = {});

// The same, compiled first. What one of them does not offer is skipped.
[[nodiscard]] Comparison compare_on_fresh(const Case& item, runtime::Device& ours,
                                          runtime::Device& judge,
                                          const AgainstOptions& options = {});

}  // namespace heddle::conformance
