// New inputs for old programs. They find rules that only fit the recorded inputs.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/hlo/module.h"
#include "heddle/tools/conformance/pack.h"

namespace heddle::conformance {

// Draws arguments of the kind of the case's own. The same case, seed and draw give the same ones.
//
//   floats     half of them recorded values, half from between two neighbours among these (so the
//              recorded distribution, smoothed); in half of the arrays a third turn their sign, but
// for programs with loops, which may never end on such (a root of -2); some arrays are scaled by
//              a power of 2; equal values spread by half of themselves
//   integers   half of them recorded values, half uniform from their range. What was distinct stays
// so, what ascended along the last dimension does. A scalar comes from between 0 and its value,
//              in programs with loops from between 1 and it, since it may count trips or be a step
//   pred       either, in about the recorded shares
//   matrices   symmetric (hermitian) ones by a permutation of rows and columns and a positive scale
// of each, which keep them so, and definite ones definite; of triangular ones the triangle
//
// Integers keep their values, in another order of rows, where a scatter or gather of the program is
// told that its indices are unique, and all of theirs where it is told that they are sorted.
[[nodiscard]] std::vector<Literal> fresh_arguments(const Case& item, const hlo::Module& module,
                                                   uint64_t seed, int draw);

// The arguments with each finite float that is not zero moved to a neighbour, up or down. Types of
// fewer than 8 bits and f8e8m0fnu stay.
[[nodiscard]] std::vector<Literal> nudged(const std::vector<Literal>& arguments, uint64_t seed);

}  // namespace heddle::conformance
