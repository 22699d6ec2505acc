// The sums of a convolution: of the window's forms, in f64, c128 or integers modulo 2^64.
#pragma once

#include "heddle/hlo/attributes.h"
#include "heddle/hlo/literal/literal.h"

namespace heddle::interpreter {

using namespace hlo;

// The convolution of x by the kernel, of the type `result`; shapes were verified.
//
// Patches of x become the rows of a matrix, which is multiplied by the kernel (im2col), group by
// group. Sums are made in f64 where an operand or the result is of floats, in c128 where one is
// complex, else modulo 2^64, and rounded once, to the result's type. Padding and holes between
// spread elements add nothing, also where the kernel is infinite or NaN: as in XLA's own evaluator
// and its compiled loops, while the libraries that XLA calls for some f32 and f16 convolutions give
// 0 * inf = NaN there. cost: a matrix product of 2 * outputs * window * input features / groups
// flops
Literal convolve(const ConvolutionAttrs& attrs, const Literal& x, const Literal& kernel,
                 const Shape& result);

}  // namespace heddle::interpreter
