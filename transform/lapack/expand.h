// JAX's LAPACK calls, which JAX's own process serves and plugins do not have, written as HLO.
#pragma once

#include <functional>
#include <string_view>

#include "heddle/base/status.h"
#include "heddle/hlo/module.h"

namespace heddle::transform {

// expand-lapack:
//   lapack_?trsm_ffi   triangular-solve
//   lapack_?potrf_ffi  cholesky; its info is 1 where the matrix is not positive definite
//   lapack_?getrf_ffi  a loop over the columns, with partial pivoting as in LAPACK's getf2
//   lapack_?gtsv_ffi   loops over the rows, with partial pivoting
//   lapack_?ormqr_ffi, lapack_?unmqr_ffi   a loop over the reflectors
//   lapack_?syevd_ffi, lapack_?heevd_ffi, lapack_?gesdd_ffi, lapack_?gesvd_ffi
//       Jacobi's rotations, in loops: vectors have signs of their own. info is 1, and all is NaN,
//       where the matrix is not finite or the sweeps do not converge
// lapack_?geqrf_ffi, lapack_?orgqr_ffi, lapack_?ungqr_ffi   the custom calls that XLA has for them
//
// Others stay as they are: the nonsymmetric eigenvalue problem and the reductions to Hessenberg and
// tridiagonal form, and calls whose operands, options or results are not those of their routine
// (hlo/lapack.h). Layouts that the calls ask for are dropped: they say how LAPACK is handed its
// matrices, and not which matrices.
//
// So a module runs where there is no LAPACK. Results have LAPACK's accuracy and not its bits: it is
// not among the passes of transform/passes.h.
//
// With `wanted`, only the calls whose targets it says yes to.
using CallFilter = std::function<bool(std::string_view target)>;
[[nodiscard]] StatusOr<hlo::Module> expand_lapack(const hlo::Module& module,
                                                  const CallFilter& wanted);
[[nodiscard]] StatusOr<hlo::Module> expand_lapack(const hlo::Module& module);

// A call that expand_lapack() writes is in the module.
[[nodiscard]] bool has_lapack(const hlo::Module& module, const CallFilter& wanted = nullptr);

// expand_lapack() writes calls of this target: "lapack_spotrf_ffi".
[[nodiscard]] bool can_expand(std::string_view target);

}  // namespace heddle::transform
