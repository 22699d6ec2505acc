// The Schur form of a general square matrix: a = Z T Z^H with Z unitary and T upper triangular. Of
// a real matrix, T is real with 2 x 2 blocks for the pairs of complex eigenvalues, each of the form
// [x y; z x] with y z < 0.
#pragma once

#include "heddle/interpreter/linalg/internal/precision.h"
#include "heddle/interpreter/linalg/internal/reflectors.h"

namespace heddle::interpreter::linalg {

template <class T>
struct Schur {
  Matrix<T> t;
  Matrix<T> z;
  std::vector<Complex> values;  // T's diagonal, or the eigenvalues of its blocks, that of positive
                                // imaginary part first
  int info = 0;                 // not 0: did not converge; values from position `info` on are right
};

// Of a matrix that is upper triangular outside of rows and columns [low, high), as balance() leaves
// it. Signs of vectors and the order of values hang on how many steps the iteration takes: of
// kSingle, a real one stops at the last digit of f32, and a complex one computes in f32.
template <class T>
Schur<T> schur(Matrix<T> a, int64_t low, int64_t high, Precision precision = Precision::kDouble);

// Its iteration on the complex Hessenberg matrix out.t: finds all but out.values.
void iterate(Schur<Complex>& out, int64_t low, int64_t high, Precision precision);

// A similar matrix whose eigenvalues are found more accurately. First rows and columns are swapped
// so that as many eigenvalues as can be stand alone, outside of [low, high); then, with `scaled`,
// rows and columns there are brought to sizes alike by powers of 2. source: Parlett and Reinsch,
// Balancing a Matrix, 1969
struct Balance {
  int64_t low = 0;
  int64_t high = 0;
  std::vector<double> factors;                     // by row; 1 outside of [low, high)
  std::vector<std::pair<int64_t, int64_t>> swaps;  // in the order they were made
};
template <class T>
Balance balance(Matrix<T>& a, bool scaled);

// From rows of vectors of the balanced matrix to those of the first: right eigenvectors and Schur
// vectors, or left eigenvectors.
template <class T>
void undo_balance(const Balance& balance, bool left, Matrix<T>& vectors);

// Eigenvectors of a, its columns of Euclidean norm 1: a v = w v, or with `left` v^H a = w v^H. A
// pair of conjugate eigenvalues of a real matrix has conjugate vectors; the element of largest size
// of a complex vector is real.
template <class T>
struct Eigenpairs {
  std::vector<Complex> values;
  Matrix<Complex> left, right;  // empty where not asked for
  int info = 0;
};
// Elements that are not finite give NaN throughout and info 1. `precision` as for schur().
template <class T>
Eigenpairs<T> eigenpairs(Matrix<T> a, bool left, bool right,
                         Precision precision = Precision::kDouble);

}  // namespace heddle::interpreter::linalg
