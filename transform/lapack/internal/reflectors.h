// Householder's reflections of batches of matrices.
#pragma once

#include "heddle/transform/lapack/internal/arrays.h"

namespace heddle::transform::lapack {

// a[b,m,n] = q r, m >= n: orthonormal columns of q[b,m,k], n <= k <= m, and r[b,n,n] upper
// triangular with a real diagonal. A column that depends on earlier ones has 0 on the diagonal, and
// q's column is orthonormal all the same. source: LAPACK's geqrf and orgqr
struct Qr {
  Array q, r;
};
Qr qr(const Array& a, int64_t k);

// H1 H2 .. Hk c, or, `adjoint`, Hk^H .. H1^H c, with c[b,m,n] and H = 1 - tau v v^H for each column
// v of reflectors[b,m,k] and taus[b,1,k].
Array times(const Array& reflectors, const Array& taus, bool is_adjoint, const Array& c);

}  // namespace heddle::transform::lapack
