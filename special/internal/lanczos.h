// The formulas behind lgamma, digamma and zeta, for those that are built from them.
#pragma once

#include "heddle/special/internal/formula.h"

namespace heddle::special_internal {

Expr lgamma_of(const Expr& x);
Expr gamma_of(const Expr& x);
Expr digamma_of(const Expr& x);
Expr zeta_of(const Expr& x, const Expr& q);

}  // namespace heddle::special_internal
