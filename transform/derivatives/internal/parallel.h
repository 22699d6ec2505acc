// The way back through a scan, all steps at once. The cotangents of a step's carries are affine in
// those that come from the next one,
//
//   s' = s M + b,   M the transposed Jacobian of the step
//
// So prefixes of products of such maps give them for every step: log2(length) rounds in place of a
// loop. source: S. Wang et al., BPPSA: Scaling back-propagation by parallel scan algorithm (MLSys
// 2020)
//
// A big sum that steps write parts of, as that of a table whose rows they read, would be whole for
// each step. A loop that does nothing else writes it.
#pragma once

#include <vector>

#include "heddle/base/status.h"
#include "heddle/transform/derivatives/internal/parts.h"

namespace heddle::transform {

// A transposed step, (inputs.., known.., carries..) -> (outputs.., known.., carries..), and its
// arguments.
struct StepsAtOnce {
  hlo::ComputationId step;
  Values inputs;                   // [length, ..]
  std::vector<bool> is_cotangent;  // by input; the others are known values
  size_t outputs;
  Values known;                // the same in all steps
  Values carries;              // cotangents before the first step
  std::vector<bool> is_sum;    // by carry: a step adds to it, and reads it for nothing else
  int64_t length;              // at least 1
  bool is_reverse;             // the first step has the last slices
};

// The outputs of all steps, [length, ..], and the carries after the last one.
// errors: Unimplemented if carries that are no sums have more than 64 numbers, or several dtypes
StatusOr<Values> all_at_once(Source& source, Graph& graph, const StepsAtOnce& steps);

}  // namespace heddle::transform
