// Functions of single elements that an op calls: of reduce, sort, scatter.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heddle/trace/recorder.h"

namespace heddle::trace_internal {

// Traces a function of scalars that an op calls for each element (reduce, sort, scatter). It may
// capture nothing: HLO gives such computations no more parameters. A lone result is the root
// itself. Counts one trace.
Fragment scalar_fragment(std::string_view what, std::span<const Shape> shapes,
                         base::FunctionRef<std::vector<Tensor>(std::span<const Tensor>)> fn);

// errors: throws Error where the function of scalars gives another number of results, or others
// than those wanted: HLO would round them at each step
void require_results(const hlo::Module& function, std::span<const Shape> wanted);

// A computation of one scalar op on two parameters, for reduce and scatter. Memoised per thread.
Fragment scalar_computation(hlo::Opcode opcode, DType dtype);

}  // namespace heddle::trace_internal
