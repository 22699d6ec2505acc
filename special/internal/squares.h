// Squares in an exponential: it would multiply the rounding of x * x by its size.
#pragma once

#include "heddle/special/internal/formula.h"

namespace heddle::special_internal {

// x^2 as a sum: a square without rounding, of x's leading half, and the rest.
struct Square {
  Expr exact, rest;
};
Square split_square(const Expr& x);

// exp(factor x^2), for a factor of -1 or -1/2; 0 for |x| > 100.
Expr exp_of_square(double factor, const Expr& x);

}  // namespace heddle::special_internal
