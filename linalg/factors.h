// Factors of matrices. Names are those of jax.lax.linalg and jax.numpy.linalg.
//
// A matrix is the last two axes of a tensor of f32, f64, c64 or c128; axes before them are a batch,
// each matrix for itself. Sizes may be 0. cholesky and triangular_solve are HLO's ops; the others
// are the custom calls of LAPACK that JAX writes on a CPU (docs/custom_calls.md). errors: all throw
// Error (InvalidArgument) with the op, the operand's type, what it must be and the caller's line
#pragma once

#include "heddle/base/containers/fields.h"
#include "heddle/base/flag.h"
#include "heddle/base/int.h"
#include "heddle/trace/operand.h"
#include "heddle/trace/tensor.h"

namespace heddle::linalg {

struct CholeskyOptions {
  base::Flag upper = false;            // U with U^H U = a instead
  base::Flag symmetrize_input = true;  // of (a + a^H) / 2; else the upper triangle is ignored
};
// a[.., n, n], Hermitian and positive definite -> L[.., n, n], lower triangular, with L L^H = a.
// The triangle of a matrix that is not positive definite is NaN.
Tensor cholesky(Operand a, const CholeskyOptions& options = {});

struct TriangularOptions {
  base::Flag left_side = false;      // op(a) x = b; else x op(a) = b
  base::Flag lower = false;          // the triangle of a that it reads
  base::Flag transpose_a = false;    // op(a) = a^T
  base::Flag conjugate_a = false;    // op(a) = conj(a), with transpose_a a^H
  base::Flag unit_diagonal = false;  // a's diagonal is ignored and counts as ones
};
// x of the linear equations with a triangle of a[.., n, n] and b[.., n, k] (left_side) or
// b[.., k, n]; leading axes broadcast. b of rank 1 is one column, or row, and x has its shape.
// Divides by zeros on the diagonal: inf or NaN.
Tensor triangular_solve(Operand a, Operand b, const TriangularOptions& options = {});

// a[.., m, n] with rows exchanged is L U: `lu`[.., m, n] holds U in its upper triangle and L, whose
// diagonal is ones, below it. Step i exchanged row i with row pivots[.., i] (s32[.., min(m, n)],
// from 0 on); row i of the product is row permutation[.., i] of a (s32[.., m]). A singular matrix
// has a 0 on U's diagonal.
struct Lu {
  Tensor lu;           // [.., m, n], of a's dtype: U and, below its diagonal, L
  Tensor pivots;       // s32[.., min(m, n)]: the row that row i was exchanged with
  Tensor permutation;  // s32[.., m]: the row of a that row i of L U is
  static constexpr auto kFields = fields(field("lu", &Lu::lu), field("pivots", &Lu::pivots),
                                         field("permutation", &Lu::permutation));
};
Lu lu(Operand a);  // a[.., m, n], with rows exchanged, as the product L U
// The permutation of `size` rows that the exchanges s32[.., k] come to.
Tensor lu_pivots_to_permutation(Operand pivots, base::Int size);

// a[.., m, n] = q r with orthonormal columns of q[.., m, k] and r[.., k, n] upper triangular. k is
// min(m, n), or m where full_matrices. The diagonal of r has the signs of LAPACK's geqrf.
struct Qr {
  Tensor q;  // [.., m, k], of a's dtype
  Tensor r;  // [.., k, n], of a's dtype
  static constexpr auto kFields = fields(field("q", &Qr::q), field("r", &Qr::r));
};
// a[.., m, n] as the product of orthonormal columns and an upper triangle.
Qr qr(Operand a, base::Flag full_matrices = false);

// The first n columns of the product of k reflectors 1 - tau v v^H, n >= k, which geqrf leaves
// below the diagonal of a[.., m, n], v's first element being 1, and in taus[.., k]: q[.., m, n].
Tensor householder_product(Operand a, Operand taus);

}  // namespace heddle::linalg
