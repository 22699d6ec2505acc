// Householder reflectors H = I - tau v v^H, and the factorisations that are made of them: QR, and
// the reductions to bidiagonal, tridiagonal and Hessenberg form, which eigenvalues and singular
// values are found from.
//
// Conventions are LAPACK's: v has zeros before `first` and a one there; H^H maps the vector to
// (beta, 0, ..), beta real and of the sign opposite to the vector's first element; a product is Q =
// H1 H2 .. Hk. source: Golub and Van Loan, Matrix Computations, chapters 5, 7 and 8
#pragma once

#include <vector>

#include "heddle/hlo/linalg/internal/matrix.h"

namespace heddle::hlo::linalg {

template <class T>
struct Reflector {
  int64_t first = 0;
  std::vector<T> v;  // from `first` on; v[0] is 1
  T tau = {};
};
template <class T>
using Reflectors = std::vector<Reflector<T>>;

// The reflector of x, which stands at rows `first` and on; x becomes (beta, 0, ..). Zero tau (H =
// I) where x is that already.
template <class T>
Reflector<T> make_reflector(std::span<T> x, int64_t first);

// a := (I - tau v v^H) a, on the columns [from, to). Give conjugate(h.tau) for H^H.
template <class T>
void apply_left(const Reflector<T>& h, T tau, Matrix<T>& a, int64_t from, int64_t to);
// a := a (I - tau v v^H), on the rows [from, to).
template <class T>
void apply_right(const Reflector<T>& h, T tau, Matrix<T>& a, int64_t from, int64_t to);

// H1 H2 .. Hk c, and (H1 H2 .. Hk)^H c.
template <class T>
Matrix<T> times(const Reflectors<T>& q, Matrix<T> c);
template <class T>
Matrix<T> times_adjoint(const Reflectors<T>& q, Matrix<T> c);

// The first `columns` columns of H1 .. Hk, of `rows` rows.
template <class T>
Matrix<T> columns_of(const Reflectors<T>& q, int64_t rows, int64_t columns) {
  return times(q, Matrix<T>::identity(rows, columns));
}

template <class T>
struct QR {
  Reflectors<T> q;  // min(m, n)
  Matrix<T> r;      // [m, n], upper triangular
};
template <class T>
QR<T> qr(Matrix<T> a);

// With a P = Q R and the columns in the order of `order`: those with fixed[j] first, then by their
// remaining norms, largest first.
template <class T>
struct PivotedQR {
  QR<T> qr;
  std::vector<int64_t> order;
};
template <class T>
PivotedQR<T> pivoted_qr(Matrix<T> a, const std::vector<bool>& fixed);

// The reflectors' v below the diagonal of r, from row `offset` of the diagonal on, as LAPACK packs
// them; and back.
template <class T>
Matrix<T> pack(const Reflectors<T>& q, Matrix<T> r, int64_t offset = 0);
template <class T>
Reflectors<T> unpack(const Matrix<T>& packed, std::span<const T> tau);

template <class T>
std::vector<T> taus(const Reflectors<T>& q) {
  std::vector<T> out;
  for (const Reflector<T>& h : q) out.push_back(h.tau);
  return out;
}

// a = Q B P^H, with B real and bidiagonal: d on the diagonal, e above it, or below it where a has
// fewer rows than columns.
template <class T>
struct Bidiagonal {
  Reflectors<T> q, p;
  std::vector<double> d, e;
  bool lower = false;
};
template <class T>
Bidiagonal<T> bidiagonalise(Matrix<T> a);

// a = Q T Q^H for a Hermitian a, T real and tridiagonal. Works from the first row down, or,
// `upward`, from the last row up, as LAPACK does for a matrix given by its upper triangle.
template <class T>
struct Tridiagonal {
  Reflectors<T> q;
  std::vector<double> d, e;
};
template <class T>
Tridiagonal<T> tridiagonalise(Matrix<T> a, bool upward);

// a = Q H Q^H, H zero below the first subdiagonal, changed in the rows and columns [low, high)
// alone.
template <class T>
struct Hessenberg {
  Reflectors<T> q;
  Matrix<T> h;
};
template <class T>
Hessenberg<T> hessenberg(Matrix<T> a, int64_t low, int64_t high);

}  // namespace heddle::hlo::linalg
