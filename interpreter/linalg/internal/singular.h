// Singular values.
#pragma once

#include "heddle/interpreter/linalg/internal/precision.h"
#include "heddle/interpreter/linalg/internal/reflectors.h"

namespace heddle::interpreter::linalg {

// a = U diag(s) V^H: s descends, the columns of U and the rows of vh are orthonormal, with the
// signs that LAPACK's gesdd (or gesvd) of the precision gives.
template <class T>
struct Svd {
  Matrix<T> u;            // [m, m] or [m, min(m, n)]
  std::vector<double> s;  // min(m, n)
  Matrix<T> vh;           // [n, n] or [min(m, n), n]
  int info = 0;           // not 0: did not converge
};

enum class SvdRoutine : uint8_t { kGesdd, kGesvd };

// `full`: all of U and V, not the columns alone that belong to values. Elements that are not finite
// give NaN throughout and info 1.
template <class T>
Svd<T> svd(Matrix<T> a, bool full, SvdRoutine routine, Precision precision = Precision::kDouble);

}  // namespace heddle::interpreter::linalg
