// Eigenvalues of Hermitian matrices by Jacobi's rotations, as XLA writes out its call Eigh.
#pragma once

#include "heddle/hlo/calls/lapack.h"
#include "heddle/interpreter/linalg/internal/matrix.h"

namespace heddle::interpreter::linalg {

// a = V diag(w) V^H, in the order in which the rotations leave the values.
template <class T>
struct JacobiEigen {
  Matrix<T> vectors;
  std::vector<T> values;  // real
};

// Of a batch of Hermitian matrices of one size. All are swept until the last has converged.
//
// source   Brent and Luk, The solution of singular-value and symmetric eigenvalue problems on
//          multiprocessor arrays, SIAM J. Sci. Stat. Comput. 6 (1985)
template <class T>
std::vector<JacobiEigen<T>> jacobi_eigen(const std::vector<Matrix<T>>& batch,
                                         const hlo::EighOptions& options);

}  // namespace heddle::interpreter::linalg
