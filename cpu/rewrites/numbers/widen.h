// widen: products and folds that compute in a wider type than their elements have.
#pragma once

#include "heddle/hlo/module.h"

namespace heddle::cpu {

// Writes dot and convolution of operands that are not of the type they are summed in, and reduce
// and reduce-window of floats of 16 bits, on converted operands: floats are summed in f32 at least,
// integers in the type of the result, and the result is rounded once. A dot that reads each element
// of its larger operand once converts what it reads. One of matrices of bf16, s8 or u8 keeps its
// operands where the processor has a unit for them. A fold whose computation takes other types than
// its operands have gets converted operands. Integers of 64 bits become small floats through f64,
// rounded once.
[[nodiscard]] StatusOr<hlo::Module> widen(const hlo::Module& module);

}  // namespace heddle::cpu
