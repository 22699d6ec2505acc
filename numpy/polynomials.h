// Polynomials as vectors of coefficients, the highest power first: {2, 0, 1} is 2 x^2 + 1. Names
// are those of jax.numpy.
//
// Coefficients are floats, integers or complex numbers of one dtype, which is the result's.
// errors: all throw Error (InvalidArgument) with the op, what the operand is, what it had to be,
// and the caller's line
#pragma once

#include <cstdint>

#include "heddle/base/containers/fields.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle {

// p(x), elementwise, by Horner's rule, for coefficients p[n]; 0 without coefficients.
// cost: n multiplications and additions of x's shape
Tensor polyval(Operand p, Operand x);

// The sum and difference: as long as the longer one; the product [n + m - 1].
Tensor polyadd(Operand p, Operand q);
Tensor polysub(Operand p, Operand q);  // The difference: as long as the longer one
Tensor polymul(Operand p, Operand q);  // The product [n + m - 1]
// p = quotient q + remainder, for p[n], q[m] of floats or complex numbers: the quotient has n - m +
// 1 elements (1, a 0, where p is shorter than q), the remainder m - 1 (1 at least), where numpy
// cuts leading zeros off. q's first coefficient must not be 0.
struct Quotient {
  Tensor quotient;   // [n - m + 1], or [1]; of p's dtype
  Tensor remainder;  // [m - 1], or [1]; of p's dtype
  static constexpr auto kFields =
      fields(field("quotient", &Quotient::quotient), field("remainder", &Quotient::remainder));
};
Quotient polydiv(Operand p, Operand q);  // The quotient and the remainder of p / q

// The derivative, `times` over, and the integral with the constant 0: of floats or complex numbers.
Tensor polyder(Operand p, base::Int times = 1);
// The integral, `times` over, with the constant 0: of floats or complex numbers.
Tensor polyint(Operand p, base::Int times = 1);
// The polynomial (x - r[0]) (x - r[1]) .. of roots r[n]: [n + 1], 1 first.
Tensor poly(Operand roots);

}  // namespace heddle
