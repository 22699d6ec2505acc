// Matrices as Eigen's, in place. For .cc files that compute by Eigen; its headers take long to
// compile.
#pragma once

#include <Eigen/Core>

#include "heddle/hlo/linalg/internal/matrix.h"

namespace heddle::hlo::linalg {

template <class T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
Eigen::Map<Dense<T>> map(Matrix<T>& a) {
  return {a.values().data(), a.rows(), a.columns()};
}
template <class T>
Eigen::Map<const Dense<T>> map(const Matrix<T>& a) {
  return {a.values().data(), a.rows(), a.columns()};
}

}  // namespace heddle::hlo::linalg
