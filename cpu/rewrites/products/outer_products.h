// Products of vectors, written as elementwise products.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes each dot that sums nothing, such as x[i] * y[j], as a product of broadcasts, whose
// elements are computed where they are read: what a gradient adds to a matrix of weights is no
// array then. A transpose that reads such a dot has its elements in its own order.
//
// The transpose of a dot of up to 4 terms with a matrix of up to 16 elements, as a gate of two
// states in einsum("ab,xby->xay"), is a sum of such products where its last dimension is long:
// vectors lie along that, and not along the few columns of the dot.
//
// A dot of complex numbers of up to 4 terms is such a sum too: each term is rounded as one product,
// and not its real and imaginary parts with those of the others.
[[nodiscard]] StatusOr<hlo::Module> expand_outer_products(const hlo::Module& module);

}  // namespace heddle::cpu
