// Sorts of a few elements as comparisons and selections.
#pragma once

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes sorts of up to twelve elements as exchanges of neighbours, with the evaluator's order
// (interpreter/ops/reduction/sort.cc): a call of a kernel would cost several times as much. Sorts
// with other comparators than interpreter::sort_keys() knows stay.
[[nodiscard]] StatusOr<hlo::Module> expand_small_sorts(const hlo::Module& module);

}  // namespace heddle::cpu
