// Plane rotations, and the 2 x 2 problems that iterations for eigenvalues and singular values end
// in. R is double or float.
#pragma once

#include "heddle/interpreter/linalg/internal/precision.h"

namespace heddle::interpreter::linalg {

// [c s; -s c] [f; g] = [r; 0]; c >= 0, r has f's sign.
template <class R>
struct Rotation {
  R c = 1;
  R s = 0;
  R r = 0;
};
template <class R>
Rotation<R> rotation_of(R f, R g);

// Columns i and j of a: (x, y) := (c x + s y, c y - s x).
template <class T>
void rotate_columns(Matrix<T>& a, int64_t i, int64_t j, Real<T> c, Real<T> s) {
  for (int64_t k = 0; k < a.rows(); ++k) {
    const T x = a(k, i), y = a(k, j);
    a(k, i) = c * x + s * y;
    a(k, j) = c * y - s * x;
  }
}
// Rows i and j of the columns from `from` on.
template <class T>
void rotate_rows(Matrix<T>& a, int64_t i, int64_t j, Real<T> c, Real<T> s, int64_t from = 0) {
  for (int64_t k = from; k < a.columns(); ++k) {
    const T x = a(i, k), y = a(j, k);
    a(i, k) = c * x + s * y;
    a(j, k) = c * y - s * x;
  }
}

// [a b; b c] has the eigenvalue `large`, of the larger size, with the unit eigenvector (cos, sin),
// and `small`.
template <class R>
struct SymmetricPair {
  R large, small, cos, sin;
};
template <class R>
SymmetricPair<R> eigen_pair(R a, R b, R c);

// [cl sl; -sl cl] [f g; 0 h] [cr -sr; sr cr] = diag(large, small), sizes in this order; signs as
// they come.
template <class R>
struct SingularPair {
  R small, large, sin_right, cos_right, sin_left, cos_left;
};
template <class R>
SingularPair<R> singular_pair(R f, R g, R h);

// Singular values alone of [f g; 0 h], the smaller one.
template <class R>
R smaller_singular_value(R f, R g, R h);

}  // namespace heddle::interpreter::linalg
