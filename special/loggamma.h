// The logarithm of the gamma function of complex numbers. Names are those of jax.scipy.special.
#pragma once

#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::special {

// log(gamma(z)), continued from z > 0 to the plane without the rest of the real axis: the imaginary
// part is not one of -pi .. pi, and on the cut it is that of the upper side. NaN at 0, -1, .. and
// the infinities. Of a float it is lgamma, and NaN from 0 down. source: Stirling's series DLMF
// 5.11.1 at z + 10, DLMF 5.5.1; left of 1/2 the reflection formula DLMF 5.5.3 with the sine's
// logarithm continued likewise (D. Hare, J. of Algorithms 25, 1997). errors: throws Error
// (InvalidArgument) with z's type and the caller's line
Tensor loggamma(Operand z);

}  // namespace heddle::special
