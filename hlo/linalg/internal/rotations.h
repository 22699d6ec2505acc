// Plane rotations, and the 2 x 2 problems that iterations for eigenvalues and singular values end
// in.
#pragma once

#include "heddle/hlo/linalg/internal/matrix.h"

namespace heddle::hlo::linalg {

// [c s; -s c] [f; g] = [r; 0]; c >= 0, r has f's sign.
struct Rotation {
  double c = 1;
  double s = 0;
  double r = 0;
};
Rotation rotation_of(double f, double g);

// Columns i and j of a: (x, y) := (c x + s y, c y - s x).
template <class T>
void rotate_columns(Matrix<T>& a, int64_t i, int64_t j, double c, double s) {
  for (int64_t k = 0; k < a.rows(); ++k) {
    const T x = a(k, i), y = a(k, j);
    a(k, i) = c * x + s * y;
    a(k, j) = c * y - s * x;
  }
}
// Rows i and j of the columns from `from` on.
template <class T>
void rotate_rows(Matrix<T>& a, int64_t i, int64_t j, double c, double s, int64_t from = 0) {
  for (int64_t k = from; k < a.columns(); ++k) {
    const T x = a(i, k), y = a(j, k);
    a(i, k) = c * x + s * y;
    a(j, k) = c * y - s * x;
  }
}

// [a b; b c] has the eigenvalue `large`, of the larger size, with the unit eigenvector (cos, sin),
// and `small`.
struct SymmetricPair {
  double large, small, cos, sin;
};
SymmetricPair eigen_pair(double a, double b, double c);

// [cl sl; -sl cl] [f g; 0 h] [cr -sr; sr cr] = diag(large, small), sizes in this order; signs as
// they come.
struct SingularPair {
  double small, large, sin_right, cos_right, sin_left, cos_left;
};
SingularPair singular_pair(double f, double g, double h);

// Singular values alone of [f g; 0 h], the smaller one.
double smaller_singular_value(double f, double g, double h);

}  // namespace heddle::hlo::linalg
