// split_complex(): complex numbers as pairs of arrays of their parts.
#pragma once

#include "heddle/hlo/module.h"

namespace heddle::cpu {

[[nodiscard]] bool has_complex(const hlo::Module& module);

// Writes a flat module so that complex arrays are tuples of a real and an imaginary part, also in
// the state of loops. What takes or gives complex arrays still: the entry, real, imag, complex, and
// ops that are computed by a kernel.
//
// Products and reductions compute as HLO's real ops do on parts, in the type of the parts: errors
// are of the size of the products that cancel. exp, abs and quotients of c64 go through f64.
[[nodiscard]] StatusOr<hlo::Module> split_complex(const hlo::Module& module);

}  // namespace heddle::cpu
