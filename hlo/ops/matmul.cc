#include "heddle/hlo/ops/matmul.h"

#include <Eigen/Core>

#include <algorithm>

namespace heddle::hlo {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using In = Eigen::Map<const Matrix<T>>;
template <class T>
using Out = Eigen::Map<Matrix<T>>;

template <class Lhs, class Rhs>
void multiply(const Lhs& a, const Rhs& b, Out<double> c) {
  c.noalias() = a * b;
}

template <class Lhs>
void multiply_by(const MatmulSizes& sizes, const Lhs& a, const double* b, Out<double> c) {
  if (sizes.rhs_transposed) {
    multiply(a, In<double>(b, sizes.columns, sizes.depth).transpose(), c);
  } else {
    multiply(a, In<double>(b, sizes.depth, sizes.columns), c);
  }
}

}  // namespace

void matmul(const MatmulSizes& sizes, const double* a, const double* b, double* c) {
  Out<double> out(c, sizes.rows, sizes.columns);
  if (sizes.lhs_transposed) {
    multiply_by(sizes, In<double>(a, sizes.depth, sizes.rows).transpose(), b, out);
  } else {
    multiply_by(sizes, In<double>(a, sizes.rows, sizes.depth), b, out);
  }
}

void matmul(const MatmulSizes& sizes, const std::complex<double>* a, const std::complex<double>* b,
            std::complex<double>* c) {
  using C = std::complex<double>;
  Out<C>(c, sizes.rows, sizes.columns).noalias() =
      In<C>(a, sizes.rows, sizes.depth) * In<C>(b, sizes.depth, sizes.columns);
}

void matmul(const MatmulSizes& sizes, const int64_t* a, const int64_t* b, int64_t* c) {
  std::fill(c, c + sizes.rows * sizes.columns, 0);
  for (int64_t row = 0; row < sizes.rows; ++row) {
    auto* to = reinterpret_cast<uint64_t*>(c + row * sizes.columns);
    for (int64_t k = 0; k < sizes.depth; ++k) {
      const auto factor = static_cast<uint64_t>(a[row * sizes.depth + k]);
      const auto* from = reinterpret_cast<const uint64_t*>(b + k * sizes.columns);
      for (int64_t column = 0; column < sizes.columns; ++column) to[column] += factor * from[column];
    }
  }
}

}  // namespace heddle::hlo
