// Samples with many lanes: some operands differ between lanes, the others are shared.
#pragma once

#include <string>
#include <vector>

#include "heddle/base/containers/function_ref.h"
#include "heddle/tests/laws/samples.h"
#include "heddle/transform/batch.h"

namespace heddle::laws {

inline constexpr int64_t kLanes = 3;

// Arguments of a sample, one set a lane, and those of all lanes together. By leaves.
struct InLanes {
  std::vector<bool> batched;
  std::vector<Literal> all;
  std::vector<std::vector<Literal>> lanes;
};
// Each set of array leaves of the arguments with lanes; of more than four leaves each alone and
// all.
std::vector<InLanes> mixes_of(const std::vector<Literal>& arguments);

// Leaves as arguments of an entry whose parameters may be tuples.
std::vector<Literal> as_arguments(const hlo::Module& module, const std::vector<Literal>& leaves);

// Arrays of one type, along a new first axis.
Literal stacked(const std::vector<Literal>& lanes);

// Empty, or where what the batched module gives is not, lane by lane, what the module gives: `same`
// compares a result of all lanes. Values are the evaluator's. Empty where it has none, as of
// calls of unknown functions.
using Same = base::FunctionRef<std::string(const Literal& have, const Literal& want)>;
std::string difference_by_lane(const hlo::Module& module, const transform::Batch& batch,
                               const InLanes& mix, Same same);

// Empty, or how two arrays differ by more than `share` of the largest number. NaN is NaN.
std::string far_apart(const Literal& have, const Literal& want, double share);

}  // namespace heddle::laws
