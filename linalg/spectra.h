// Eigenvalues and singular values. Names are those of jax.numpy.linalg and jax.lax.linalg;
// matrices, batches, dtypes and errors as in linalg/factors.h. A matrix with an element that is not
// finite, or whose iteration does not converge, has NaN everywhere in its results.
#pragma once

#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::linalg {

struct EighOptions {
  bool lower = true;             // the triangle of a that is looked at
  bool symmetrize_input = true;  // of (a + a^H) / 2; then either triangle does
};
// a[.., n, n], Hermitian: a v = v diag(w) with w[.., n] real and ascending, and orthonormal columns
// of v[.., n, n].
struct Eigh {
  Tensor eigenvalues, eigenvectors;
};
Eigh eigh(Operand a, const EighOptions& options = {});
// w alone.
Tensor eigvalsh(Operand a, const EighOptions& options = {});

// Of the symmetric tridiagonal matrices with diagonal d[.., n] and e[.., n - 1] beside it, real.
Eigh eigh_tridiagonal(Operand d, Operand e);

// a[.., n, n]: a v = v diag(w) with w[.., n] and v[.., n, n] complex, in no order, each column of v
// of length 1 with a real greatest element.
struct Eig {
  Tensor eigenvalues, eigenvectors;
};
Eig eig(Operand a);
// w alone.
Tensor eigvals(Operand a);

// a[.., m, n] = u diag(s) vh with s[.., min(m, n)] real and descending; orthonormal columns of
// u[.., m, m] and rows of vh[.., n, n], of which, unless full_matrices, the first min(m, n).
struct Svd {
  Tensor u, s, vh;
};
Svd svd(Operand a, bool full_matrices = true);
// s alone.
Tensor svdvals(Operand a);

}  // namespace heddle::linalg
