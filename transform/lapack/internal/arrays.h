// The vocabulary of algorithms on batches of matrices: values (hlo/value.h), and a few functions
// more. Reductions here keep the dimensions, with size 1.
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

// The power of two in the exponent of x >= 0; the least normal number for smaller x.
Array power_of_two(const Array& x);

Array sum(const Array& x, const std::vector<int64_t>& dimensions);
Array greatest(const Array& x, const std::vector<int64_t>& dimensions);  // of numbers >= 0
Array any(const Array& x, const std::vector<int64_t>& dimensions);
Array all(const Array& x, const std::vector<int64_t>& dimensions);

// |x| as LAPACK measures it where it looks for a pivot.
Array size_of(const Array& x);

// pred [1, m, n]: row and column have the same number.
Array on_diagonal(Scope& scope, int64_t m, int64_t n);
// Of batches of matrices, [b, m, n].
Array transpose(const Array& x);
Array adjoint(const Array& x);

}  // namespace heddle::transform::lapack
