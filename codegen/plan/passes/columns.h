// Rows that each turn of a loop folds to one lane each.
#pragma once

#include "heddle/codegen/plan/plan.h"

namespace heddle::cpu {

// A while that carries as many vectors as each has lanes, and whose turns fold each of them, or
// what they make of it, to a lane of one vector:
//
//   while { h0 = f(h0), h1 = f(h1), ..; y = (sum of h0's lanes, sum of h1's lanes, ..) }
//
// carries the columns of that square of lanes instead. Their sum takes no shuffles. The square is
// turned before and after the loop; so are rows that the loop only reads.
void carry_columns(Plan& plan);

}  // namespace heddle::cpu
