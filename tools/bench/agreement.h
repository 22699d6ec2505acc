// Checks whether the results of a benchmark program agree with the expected ones, and with each
// other.
//
// A float differs if it is further off than a share of the largest value of its output: 1e-9 for
// f64, 1e-4 for f32, 1e-2 for f16, 5e-2 for bf16 and smaller types. Sums may be off by that share
// of the sum of absolute values, l2 by that share of itself. Integers must be equal. Between two
// backends, each may be off by so much.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "heddle/tools/bench/program.h"

namespace heddle::tools {

// For each output, how much further each of its floats may be off; empty: no further.
using Slack = std::vector<double>;

// The first output that is not as expected, and how it differs; empty: there is none.
[[nodiscard]] std::string difference_from_expected(std::span<const Literal> results,
                                                   std::span<const ExpectedOutput> expected,
                                                   const Slack& slack = {});
[[nodiscard]] std::string difference_between(std::span<const Literal> results,
                                             std::span<const Literal> others,
                                             const Slack& slack = {});

// Chaotic programs (lorenz_f32) give other numbers after any rounding. So small changes of the
// arguments tell how far results may be apart: floats move up or down by a twentieth of the above
// share, or less, in each of some turns.
inline constexpr int kMoves = 4;
[[nodiscard]] std::vector<Literal> moved(std::vector<Literal> arguments, int turn);

// The largest finite change of each output of floats.
[[nodiscard]] Slack changes(std::span<const Literal> before, std::span<const Literal> after);

}  // namespace heddle::tools
