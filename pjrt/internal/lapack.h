// JAX's LAPACK calls, which JAX's own process serves and plugins do not have, written as HLO.
#pragma once

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::pjrt {

// expand-lapack:
//   lapack_?trsm_ffi   triangular-solve
//   lapack_?potrf_ffi  cholesky; its info is 1 where the matrix is not positive definite
//   lapack_?getrf_ffi  a loop over the columns, with partial pivoting as in LAPACK's getf2
//   lapack_?geqrf_ffi, lapack_?orgqr_ffi, lapack_?ungqr_ffi   the custom calls that XLA has for
//   them
// Others stay as they are.
[[nodiscard]] StatusOr<hlo::Module> expand_lapack(const hlo::Module& module);

// A call of LAPACK is in the module.
[[nodiscard]] bool has_lapack(const hlo::Module& module);

}  // namespace heddle::pjrt
