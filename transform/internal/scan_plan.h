// The values that a scan's loop has to carry. Many values of a scan need no loop:
//
//   a carry that the body returns as it came      is the initial value, after any number of steps
//   an output that is a slice as it came          is the input
//   an output that is such a carry                is the initial value, repeated
//   an output that another output already is      is that output
//
// The loop steps the others.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"
#include "heddle/transform/internal/scan_parts.h"

namespace heddle::transform {

// The source of an output's value.
struct OutputSource {
  enum class Kind : uint8_t { kLoop, kInput, kRepeatedCarry, kEarlierOutput };
  Kind kind = Kind::kLoop;
  size_t index = 0;  // of the input, the carry, or the earlier output
};

struct ScanPlan {
  ScanParts parts;
  std::vector<OutputSource> outputs;
  std::vector<bool> invariant;  // by carry: returned as it came
  std::vector<size_t> stacked;  // outputs of kind kLoop
  std::vector<size_t> stepped;  // carries that are not invariant
  int64_t block = 1;            // steps in one pass of the loop
  int64_t trips = 0;            // passes of the loop; 0: no loop
  int64_t tail =
      0;  // steps written one after another, without a loop (behind it, where there is one)
};

// The name of the frontend attribute for the steps in one pass of the loop: a number, 0 or "full"
// for all.
inline constexpr char kUnrollAttribute[] = "heddle.unroll";

// errors: InvalidArgument for an unknown value of heddle.unroll; ResourceExhausted if it asks for
// more than 2^16 steps without a loop; Unimplemented if the loop slices or stacks bounded dynamic
// shapes
StatusOr<ScanPlan> plan_scan(const hlo::Computation& caller, const hlo::Instruction& scan,
                             const hlo::Computation& body);

}  // namespace heddle::transform
