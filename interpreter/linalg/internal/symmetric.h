// Eigenvalues of Hermitian matrices.
#pragma once

#include "heddle/interpreter/linalg/internal/precision.h"
#include "heddle/interpreter/linalg/internal/reflectors.h"

namespace heddle::interpreter::linalg {

// a = V diag(w) V^H: w ascends, the columns of V are orthonormal, with the signs that LAPACK's
// syevd of the precision gives.
template <class T>
struct HermitianEigen {
  Matrix<T> vectors;
  std::vector<double> values;
  int info = 0;  // not 0: did not converge, and nothing above means anything
};

// Of a Hermitian matrix, of which one triangle is read. Elements that are not finite give NaN
// throughout and info 1.
template <class T>
HermitianEigen<T> hermitian_eigen(const Matrix<T>& a, bool lower,
                                  Precision precision = Precision::kDouble);

}  // namespace heddle::interpreter::linalg
