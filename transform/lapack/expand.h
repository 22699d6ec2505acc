// Writes JAX's LAPACK calls as HLO. JAX's own process serves them; plugins do not have them.
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
// Other calls stay as they are: the nonsymmetric eigenvalue problem, the reductions to Hessenberg
// and tridiagonal form, and calls whose operands, options or results do not fit their routine
// (hlo/calls/lapack.h). Layouts of the calls are dropped: they say how LAPACK receives its
// matrices, and not which matrices.
//
// So a module runs without LAPACK. Results have LAPACK's accuracy and not its bits, so this is not
// among the passes of transform/passes.h.
//
// With `wanted`, it writes only calls whose targets `wanted` accepts. With `unrolls`, getrf of up
// to kMostUnrolledRows rows and columns has no loop: for a backend that holds rows in registers.
inline constexpr int64_t kMostUnrolledRows = 8;
using CallFilter = std::function<bool(std::string_view target)>;
[[nodiscard]] StatusOr<hlo::Module> expand_lapack(const hlo::Module& module,
                                                  const CallFilter& wanted, bool unrolls = false);
[[nodiscard]] StatusOr<hlo::Module> expand_lapack(const hlo::Module& module);

// Whether the module has a call that expand_lapack() writes.
[[nodiscard]] bool has_lapack(const hlo::Module& module, const CallFilter& wanted = nullptr);

// Whether expand_lapack() writes calls of this target, such as "lapack_spotrf_ffi".
[[nodiscard]] bool can_expand(std::string_view target);

}  // namespace heddle::transform
