// How far a loop is, while it runs.
//
//   scan(step, init, xs, {.progress = "fit"})
//   fori_loop(0, n, [&](Tensor i, Tensor x) { progress(i, n, "solve"); return next(x); }, x)
//
// It shows a bar on a terminal. Elsewhere it writes a line every five seconds and one at the end:
//
//   fit: step 4200 of 10000 (42%), 12.6 s, 17.4 s left
#pragma once

#include <string_view>

#include "heddle/base/int.h"
#include "heddle/trace/operand.h"

namespace heddle {

// Step `step` (from 0, an integer scalar) of `total` is done; 0: nobody knows how many there are.
// Goes where debug_print() goes. The host is called about 200 times for a known total, however many
// steps there are.
//
// errors   Error: InvalidArgument for a step that is no integer scalar, or a total below 0
void progress(Operand step, base::Int total = 0, std::string_view name = "progress",
              SourceLocation at = SourceLocation::here());

}  // namespace heddle
