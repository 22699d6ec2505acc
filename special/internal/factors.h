// The factors before the expansions of the incomplete gamma and beta functions. They keep their
// digits where their parts are large and cancel. a, b and x are positive.
#pragma once

#include "heddle/special/internal/formula.h"

namespace heddle::special_internal {

// a (log(x / a) - (x - a) / a), which is 0 at x = a and negative elsewhere. `difference` is x - a,
// which the caller may know more exactly than the rounded numbers give it. source: C. Loader, Fast
// and accurate computation of binomial probabilities (2000), whose -bd0(a, x) it is
Expr log_ratio(const Expr& difference, const Expr& a, const Expr& x);

// a^a e^-a / gamma(a), the other factor of x^a e^-x / gamma(a): the two are exp(log_ratio) times
// this one. Its size is about sqrt(a), or a for a < 1; there it leaves out the factor a.
// source: Lanczos's sum with 13 terms, whose coefficients are the ones that make it exact at 1 ..
// 13; its greatest relative error is 9.3e-17
Expr power_over_gamma(const Expr& a);

// log(beta(a, b)). source: Lanczos's approximation of the three gamma functions, combining their
// powers before taking logarithms
Expr log_beta(const Expr& a, const Expr& b);

// log(gamma(1 + a)) for -1/2 < a < 1.7, accurate next to 0. source: DLMF 5.7.3
Expr lgamma1p(const Expr& a);

}  // namespace heddle::special_internal
