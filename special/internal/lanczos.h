// The formulas behind lgamma, digamma and zeta, for those that are built from them.
#pragma once

#include "heddle/special/internal/formula.h"

namespace heddle::special_internal {

Located lgamma_of(const Located& x);
Located gamma_of(const Located& x);
// x^a e^-x / gamma(a) for positive a and x, as the exponential of `power` times `rest`: so it keeps
// its digits where power and gamma(a) are large and alike, and its logarithm does not underflow.
struct GammaFactor {
  Located power, rest;
};
GammaFactor gamma_factor(const Located& a, const Located& x);
Located digamma_of(const Located& x);
Located zeta_of(const Located& x, const Located& q);

}  // namespace heddle::special_internal
