// Loops whose turns come in pairs.
#pragma once

#include <set>

#include "heddle/cpu/lower/control/counted_loop.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Whether a turn that copies so many bytes of its state back to where they were is to be one of
// two: the first makes the state in other memory, the second makes the next one in the old place,
// and nothing is copied. Turns that are large, that call, or that compute much for each element
// stay as they are.
bool is_worth_doubling(const hlo::Module& module, const Instruction& loop,
                       const CountedLoop& counted, int64_t copied_bytes);

// The module with two turns of these loops in one. The last one of an odd number follows the loop.
[[nodiscard]] StatusOr<hlo::Module> with_doubled_turns(const hlo::Module& module,
                                                       const std::set<const Instruction*>& loops);

}  // namespace heddle::cpu
