// The formulas behind lgamma, digamma and zeta, for those that are built from them.
#pragma once

#include "heddle/special/internal/formula.h"

namespace heddle::special_internal {

Located lgamma_of(const Located& x);
Located gamma_of(const Located& x);
Located digamma_of(const Located& x);
Located zeta_of(const Located& x, const Located& q);

}  // namespace heddle::special_internal
