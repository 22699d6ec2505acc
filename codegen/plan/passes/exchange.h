// Loops over elements in loops over steps, the other way around.
#pragma once

#include <span>
#include <utility>

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// A loop over steps that does nothing but one for_each goes inside of it where no turn of the
// for_each needs what another one writes, in whichever step:
//
//   while t { for_each i { h[i] = f(h[i], x[t, i]) } }
//   for_each i { a = h[i]; while t { a = f(a, x[t, i]) }; h[i] = a }
//
// So the elements that all steps share are registers. Where that would leave too little work for
// each line of x, parts of the for_each's range take all steps (kParts), and threads share them. So
// do the rows of a matrix that a product adds up.
// `taken`: arguments and results, by number, that may be the same memory.
void exchange_loops(Plan& plan, std::span<const std::pair<int64_t, int64_t>> taken);

}  // namespace heddle::cpu
