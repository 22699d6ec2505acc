// Householder reflectors H = I - tau v v^H, and the factorisations that are made of them: QR, and
// the reductions to bidiagonal, tridiagonal and Hessenberg form, which eigenvalues and singular
// values are found from. Eigen computes them.
//
// Conventions are LAPACK's: v has zeros before some row and a one there; H^H maps the vector to
// (beta, 0, ..), beta real and of the sign opposite to the vector's first element; a product is Q =
// H1 H2 .. Hk. They are Eigen's too, but that its coefficient of a complex reflector is conj(tau),
// that a first element of -0 counts as 0, and that below the first element sizes of 1e-154 of the
// matrix's largest, whose squares vanish, count as zeros. source: Golub and Van Loan, Matrix
// Computations, chapters 5, 7 and 8
#pragma once

#include <vector>

#include "heddle/interpreter/linalg/internal/matrix.h"

namespace heddle::interpreter::linalg {

// Q = H1 H2 .. Hk as LAPACK packs it: Hj's v in column j of `packed`, with its one, which is not
// stored, at row j + shift, and the rest below. What is above belongs to the other factor.
template <class T>
struct Reflectors {
  Matrix<T> packed;
  std::vector<T> tau;  // one a reflector
  int64_t shift = 0;
};

// Q c, and Q^H c.
template <class T>
Matrix<T> times(const Reflectors<T>& q, const Matrix<T>& c);
template <class T>
Matrix<T> times_adjoint(const Reflectors<T>& q, const Matrix<T>& c);

// The first `columns` columns of Q.
template <class T>
Matrix<T> columns_of(const Reflectors<T>& q, int64_t columns);

// The factor that is packed above the vectors, of `rows` rows, with zeros in their place.
template <class T>
Matrix<T> other_factor(const Reflectors<T>& q, int64_t rows);

// a = Q R.
template <class T>
Reflectors<T> qr(Matrix<T> a);

// With a P = Q R and the columns in the order of `order`: those with fixed[j] first, then by their
// remaining norms, largest first.
template <class T>
struct PivotedQR {
  Reflectors<T> q;
  std::vector<int64_t> order;
};
template <class T>
PivotedQR<T> pivoted_qr(Matrix<T> a, const std::vector<bool>& fixed);

// a = Q B P^H, with B real and bidiagonal: d on the diagonal, e above it, or below it where a has
// fewer rows than columns. Nothing is packed above the vectors of Q and P.
template <class T>
struct Bidiagonal {
  Reflectors<T> q, p;
  std::vector<double> d, e;
  bool lower = false;
};
template <class T>
Bidiagonal<T> bidiagonalise(Matrix<T> a);

// a = Q T Q^H for a Hermitian a, of which the lower triangle is read; T is real and tridiagonal,
// and packed on and below the diagonal too.
template <class T>
struct Tridiagonal {
  Reflectors<T> q;
  std::vector<double> d, e;
};
template <class T>
Tridiagonal<T> tridiagonalise(Matrix<T> a);

// a = Q H Q^H, H zero below the first subdiagonal. Outside of rows and columns [low, high), a must
// be upper triangular; Q is the identity there.
template <class T>
Reflectors<T> hessenberg(Matrix<T> a, int64_t low, int64_t high);

}  // namespace heddle::interpreter::linalg
