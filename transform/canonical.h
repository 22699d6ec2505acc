// The canonical form: what a module computes, without the accidents of how it was written down.
//
//   dead instructions and uncalled computations are gone; parameters stand first, by number; the
//   rest follows in post-order from the effects, in their order, and the root; computations follow
//   in post-order of the first call; equal ones are one; names, metadata, source lines and layouts
//   are empty.
//
// Two modules that compute the same by the same ops on the same operands have equal canonical forms
// (hlo::equal). Nothing is simplified: x + y and y + x stay apart, so equal forms give equal bits.
// Layouts go because Heddle computes on logical positions. They stay only around bitcast, whose
// meaning depends on them.
#pragma once

#include "heddle/hlo/module.h"

namespace heddle::transform {

// Returns the canonical form.
// cost: linear, without recursion; the second form moves the instructions instead of copying them
[[nodiscard]] hlo::Module canonicalize(const hlo::Module& module);
[[nodiscard]] hlo::Module canonicalize(hlo::Module&& module);

// The same module without dead instructions and uncalled computations, in the order of the
// canonical form. Names, metadata, lines and layouts stay, and equal computations stay apart.
[[nodiscard]] hlo::Module in_canonical_order(hlo::Module&& module);

}  // namespace heddle::transform
