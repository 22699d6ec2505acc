#include "heddle/interpreter/ops/contraction/matmul.h"

#include <Eigen/Core>
#include <algorithm>
#include <iterator>
#include <vector>

namespace heddle::interpreter {
namespace {

template <class T>
using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using In = Eigen::Map<const RowMajorMatrix<T>>;
template <class T>
using Out = Eigen::Map<RowMajorMatrix<T>>;

template <class Lhs, class Rhs>
void multiply_by_eigen(const Lhs& a, const Rhs& b, Out<double> c) {
  c.noalias() = a * b;
}

template <class Lhs>
void multiply_by(const MatmulSizes& sizes, const Lhs& a, const double* b, Out<double> c) {
  if (sizes.rhs_transposed) {
    multiply_by_eigen(a, In<double>(b, sizes.columns, sizes.depth).transpose(), c);
  } else {
    multiply_by_eigen(a, In<double>(b, sizes.depth, sizes.columns), c);
  }
}

// Parts are multiplied and added as f32's, without the detour of std::complex over infinities.
float f32_product(float a, float b) { return a * b; }
std::complex<float> f32_product(std::complex<float> a, std::complex<float> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class Narrow, class Wide>
void multiply_in_steps(const MatmulSizes& sizes, const Wide* a, const Wide* b, Wide* c) {
  const auto narrowed = [](Wide x) { return static_cast<Narrow>(x); };
  std::vector<Narrow> right(static_cast<size_t>(sizes.depth * sizes.columns));
  std::transform(b, b + right.size(), right.begin(), narrowed);
  std::vector<Narrow> sums(static_cast<size_t>(sizes.columns));
  for (int64_t row = 0; row < sizes.rows; ++row) {
    std::ranges::fill(sums, Narrow(0));
    for (int64_t k = 0; k < sizes.depth; ++k) {
      const Narrow factor = narrowed(a[row * sizes.depth + k]);
      const Narrow* from = right.data() + k * sizes.columns;
      for (size_t column = 0; column < sums.size(); ++column)
        sums[column] += f32_product(factor, from[column]);
    }
    std::ranges::copy(sums, c + row * sizes.columns);
  }
}

// The real and the imaginary parts of a matrix.
struct Parts {
  Parts(const std::complex<double>* x, int64_t count) {
    std::transform(x, x + count, std::back_inserter(real),
                   [](std::complex<double> each) { return each.real(); });
    std::transform(x, x + count, std::back_inserter(imag),
                   [](std::complex<double> each) { return each.imag(); });
  }
  std::vector<double> real, imag;
};

}  // namespace

void matmul_in_f32(const MatmulSizes& sizes, const double* a, const double* b, double* c) {
  multiply_in_steps<float>(sizes, a, b, c);
}

void matmul_in_f32(const MatmulSizes& sizes, const std::complex<double>* a,
                   const std::complex<double>* b, std::complex<double>* c) {
  multiply_in_steps<std::complex<float>>(sizes, a, b, c);
}

void matmul(const MatmulSizes& sizes, const double* a, const double* b, double* c) {
  Out<double> out(c, sizes.rows, sizes.columns);
  if (sizes.lhs_transposed) {
    multiply_by(sizes, In<double>(a, sizes.depth, sizes.rows).transpose(), b, out);
  } else {
    multiply_by(sizes, In<double>(a, sizes.rows, sizes.depth), b, out);
  }
}

// By the parts: std::complex makes of infinities what the definition, products and sums of parts,
// does not.
void matmul(const MatmulSizes& sizes, const std::complex<double>* a, const std::complex<double>* b,
            std::complex<double>* c) {
  const Parts x(a, sizes.rows * sizes.depth), y(b, sizes.depth * sizes.columns);
  const auto count = static_cast<size_t>(sizes.rows * sizes.columns);
  std::vector<double> one(count), other(count);
  matmul(sizes, x.real.data(), y.real.data(), one.data());
  matmul(sizes, x.imag.data(), y.imag.data(), other.data());
  for (size_t i = 0; i < count; ++i) c[i].real(one[i] - other[i]);
  matmul(sizes, x.real.data(), y.imag.data(), one.data());
  matmul(sizes, x.imag.data(), y.real.data(), other.data());
  for (size_t i = 0; i < count; ++i) c[i].imag(one[i] + other[i]);
}

void matmul(const MatmulSizes& sizes, const int64_t* a, const int64_t* b, int64_t* c) {
  std::fill(c, c + sizes.rows * sizes.columns, 0);
  for (int64_t row = 0; row < sizes.rows; ++row) {
    auto* to = reinterpret_cast<uint64_t*>(c + row * sizes.columns);
    for (int64_t k = 0; k < sizes.depth; ++k) {
      const auto factor = static_cast<uint64_t>(a[row * sizes.depth + k]);
      const auto* from = reinterpret_cast<const uint64_t*>(b + k * sizes.columns);
      for (int64_t column = 0; column < sizes.columns; ++column)
        to[column] += factor * from[column];
    }
  }
}

}  // namespace heddle::interpreter
