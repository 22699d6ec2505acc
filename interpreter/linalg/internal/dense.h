// Matrices as Eigen's, in place. For .cc files that compute by Eigen; its headers take long to
// compile.
#pragma once

#include <Eigen/Core>

#include "heddle/interpreter/linalg/internal/matrix.h"

namespace heddle::interpreter::linalg {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

template <class T>
Eigen::Map<Dense<T>> map(Matrix<T>& a) {
  return {a.values().data(), a.rows(), a.columns()};
}
template <class T>
Eigen::Map<const Dense<T>> map(const Matrix<T>& a) {
  return {a.values().data(), a.rows(), a.columns()};
}
template <class T>
Eigen::Map<const Vector<T>> map(const std::vector<T>& v) {
  return {v.data(), static_cast<int64_t>(v.size())};
}

template <class T, class Expression>
Matrix<T> matrix_of(const Expression& from) {
  Matrix<T> out(from.rows(), from.cols());
  map(out) = from;
  return out;
}
template <class T, class Expression>
std::vector<T> vector_of(const Expression& from) {
  std::vector<T> out(static_cast<size_t>(from.size()));
  Eigen::Map<Vector<T>>(out.data(), from.size()) = from;
  return out;
}

}  // namespace heddle::interpreter::linalg
