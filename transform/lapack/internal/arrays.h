// What algorithms on batches of matrices are written in: values (hlo/value.h), and what they need
// beside those. Reductions here keep the dimensions, with size 1.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/hlo/value.h"

namespace heddle::transform::lapack {

using Array = hlo::Value;
using Arrays = hlo::Values;
using Scope = hlo::Graph;
using hlo::concatenate;
using hlo::loop;
using hlo::repeat;
using hlo::sort;
using hlo::Writer;

// The power of two that x >= 0 has as its leading part; the least normal number below that.
Array power_of_two(const Array& x);

Array sum(const Array& x, const std::vector<int64_t>& dimensions);
Array greatest(const Array& x, const std::vector<int64_t>& dimensions);  // of numbers >= 0
Array any(const Array& x, const std::vector<int64_t>& dimensions);
Array all(const Array& x, const std::vector<int64_t>& dimensions);

// pred [1, m, n]: row and column have the same number.
Array on_diagonal(Scope& scope, int64_t m, int64_t n);
// Of batches of matrices, [b, m, n].
Array transpose(const Array& x);
Array adjoint(const Array& x);

}  // namespace heddle::transform::lapack
