// Eigenvalues and singular values. Names are those of jax.numpy.linalg and jax.lax.linalg;
// matrices, batches, dtypes and errors as in linalg/factors.h. A matrix with an element that is not
// finite, or whose iteration does not converge, has NaN everywhere in its results.
#pragma once

#include "heddle/base/containers/fields.h"
#include "heddle/base/flag.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::linalg {

struct EighOptions {
  base::Flag lower = true;             // the triangle of a that is looked at
  base::Flag symmetrize_input = true;  // of (a + a^H) / 2, so that both triangles count
};
// a[.., n, n], Hermitian: a v = v diag(w) with w[.., n] real and ascending, and orthonormal columns
// of v[.., n, n].
struct Eigh {
  Tensor eigenvalues;   // [.., n], real, ascending
  Tensor eigenvectors;  // [.., n, n], of a's dtype, as columns
  static constexpr auto kFields =
      fields(field("eigenvalues", &Eigh::eigenvalues), field("eigenvectors", &Eigh::eigenvectors));
};
// The eigenvalues, ascending, and the eigenvectors of Hermitian a[.., n, n].
Eigh eigh(Operand a, const EighOptions& options = {});
// The eigenvalues only.
Tensor eigvalsh(Operand a, const EighOptions& options = {});

// The eigenvalues and eigenvectors of real symmetric tridiagonal matrices with diagonal d[.., n]
// and e[.., n - 1] beside it.
Eigh eigh_tridiagonal(Operand d, Operand e);

// a[.., n, n]: a v = v diag(w) with w[.., n] and v[.., n, n] complex, in no order, each column of v
// of length 1 with a real greatest element.
struct Eig {
  Tensor eigenvalues;   // [.., n], complex, in no order
  Tensor eigenvectors;  // [.., n, n], complex, as columns
  static constexpr auto kFields =
      fields(field("eigenvalues", &Eig::eigenvalues), field("eigenvectors", &Eig::eigenvectors));
};
Eig eig(Operand a);  // The eigenvalues, in no order, and the eigenvectors of a[.., n, n], complex
// The eigenvalues only.
Tensor eigvals(Operand a);

// a[.., m, n] = u diag(s) vh with s[.., min(m, n)] real and descending; orthonormal columns of
// u[.., m, m] and rows of vh[.., n, n], of which, unless full_matrices, the first min(m, n).
struct Svd {
  Tensor u;   // [.., m, m], or [.., m, min(m, n)]; of a's dtype
  Tensor s;   // [.., min(m, n)], real, descending
  Tensor vh;  // [.., n, n], or [.., min(m, n), n]; of a's dtype, vectors as rows
  static constexpr auto kFields =
      fields(field("u", &Svd::u), field("s", &Svd::s), field("vh", &Svd::vh));
};
// The singular values of a[.., m, n], descending, and the vectors to both sides of them.
Svd svd(Operand a, base::Flag full_matrices = true);
// The singular values only.
Tensor svdvals(Operand a);

}  // namespace heddle::linalg
