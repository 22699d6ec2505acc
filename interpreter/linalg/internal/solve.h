// LU and Cholesky factors, and the solution of triangular systems, and of tridiagonal ones that may
// be singular.
//
// In float, double and complex<double>. The order of sums, and where products are fused or a
// reciprocal is taken, follows LAPACK on a CPU: small real systems get the same bits.
// source: Golub and Van Loan, Matrix Computations, chapters 3 and 4
#pragma once

#include "heddle/interpreter/linalg/internal/matrix.h"

namespace heddle::interpreter::linalg {

// In place: L (its diagonal of ones not stored) below U, so that P a = L U. Row i was swapped with
// row pivots[i] >= i, in this order. Returns 0, or 1 + the position of the first zero on U's
// diagonal. The pivot is the first element of largest |x| of its column; of complex elements of
// largest |re| + |im|, as in LAPACK.
template <class T>
int lu(Matrix<T>& a, std::vector<Int>& pivots);

// In place, from one triangle: L with L L^H = a, or, not `lower`, U with U^H U = a; the other
// triangle is left as it is. Returns 0, or 1 + the position of the first pivot that is not
// positive, where it stops.
template <class T>
int cholesky(Matrix<T>& a, bool lower);

enum class Transposed : uint8_t { kNo, kYes, kConjugate };

// Of a it reads one triangle, and not the diagonal where that is said to be ones.
struct Triangular {
  bool left = true;
  bool lower = true;
  bool unit_diagonal = false;
  Transposed transposed = Transposed::kNo;
  bool by_reciprocal = false;  // multiplies by 1 / diagonal, as the kernels under LAPACK do
};

// b := x, with op(a) x = b, or x op(a) = b where a is not on the left. A zero on the diagonal gives
// infinities and NaN.
template <class T>
void solve_triangular(const Triangular& form, const Matrix<T>& a, Matrix<T>& b);

// b := x, with the tridiagonal matrix of `below`, `diagonal` and `above` times x = b. The matrix
// may be singular, as inverse iteration has them: tiny pivots are moved by an epsilon of U's
// largest element, so that x is finite. Each row is scaled by its own size where two are compared.
// All three spans have n elements, below[0] and above[n-1] unused.
//
// source   LAPACK's routines lagtf and lagts, and jaxlib's tridiagonal_solve_perturbed
template <class T>
void solve_perturbed(std::span<const T> below, std::span<const T> diagonal,
                     std::span<const T> above, Matrix<T>& b);

}  // namespace heddle::interpreter::linalg
