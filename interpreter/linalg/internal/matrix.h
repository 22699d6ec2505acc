// Dense matrices for the rules of linear algebra, in the two types that they compute in: double,
// which serves every real type, and complex<double>. Results are rounded once to the element type.
//
// Signs, order and packing are LAPACK's where its users see them: JAX's programs were made with its
// results. What does not hang on the order of LAPACK's own steps is computed by Eigen
// (reflectors.cc; products and large triangular systems); the rest is the textbook's loops, written
// to be read.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace heddle::interpreter::linalg {

using Complex = std::complex<double>;
using SingleComplex = std::complex<float>;  // of the few routines that compute in f32

inline double conjugate(double x) { return x; }
inline float conjugate(float x) { return x; }
inline Complex conjugate(Complex x) { return std::conj(x); }
inline SingleComplex conjugate(SingleComplex x) { return std::conj(x); }
inline double real_of(double x) { return x; }
inline float real_of(float x) { return x; }
inline double real_of(Complex x) { return x.real(); }
inline float real_of(SingleComplex x) { return x.real(); }
inline double imag_of(double) { return 0; }
inline float imag_of(float) { return 0; }
inline double imag_of(Complex x) { return x.imag(); }
inline float imag_of(SingleComplex x) { return x.imag(); }

// Column-major: a column is a span.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), values_(static_cast<size_t>(rows * columns)) {}

  static Matrix identity(int64_t rows, int64_t columns) {
    Matrix out(rows, columns);
    for (int64_t i = 0; i < std::min(rows, columns); ++i) out(i, i) = T(1);
    return out;
  }

  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t columns() const { return columns_; }
  T& operator()(int64_t row, int64_t column) {
    return values_[static_cast<size_t>(column * rows_ + row)];
  }
  const T& operator()(int64_t row, int64_t column) const {
    return values_[static_cast<size_t>(column * rows_ + row)];
  }
  // Column `column` from row `first` on.
  std::span<T> column(int64_t column, int64_t first = 0) {
    return {values_.data() + column * rows_ + first, static_cast<size_t>(rows_ - first)};
  }
  [[nodiscard]] std::span<const T> column(int64_t column, int64_t first = 0) const {
    return {values_.data() + column * rows_ + first, static_cast<size_t>(rows_ - first)};
  }
  [[nodiscard]] const std::vector<T>& values() const { return values_; }
  [[nodiscard]] std::vector<T>& values() { return values_; }

  void swap_columns(int64_t a, int64_t b) {
    for (int64_t i = 0; i < rows_; ++i) std::swap((*this)(i, a), (*this)(i, b));
  }
  void swap_rows(int64_t a, int64_t b) {
    for (int64_t j = 0; j < columns_; ++j) std::swap((*this)(a, j), (*this)(b, j));
  }

 private:
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  std::vector<T> values_;
};

template <class T>
Matrix<T> adjoint(const Matrix<T>& a) {
  Matrix<T> out(a.columns(), a.rows());
  for (int64_t j = 0; j < a.columns(); ++j) {
    for (int64_t i = 0; i < a.rows(); ++i) out(j, i) = conjugate(a(i, j));
  }
  return out;
}

// Columns or rows [from, from + count) of a.
template <class T>
Matrix<T> columns_of(const Matrix<T>& a, int64_t from, int64_t count) {
  Matrix<T> out(a.rows(), count);
  for (int64_t j = 0; j < count; ++j) std::ranges::copy(a.column(from + j), out.column(j).begin());
  return out;
}
template <class T>
Matrix<T> rows_of(const Matrix<T>& a, int64_t from, int64_t count) {
  Matrix<T> out(count, a.columns());
  for (int64_t j = 0; j < a.columns(); ++j) {
    for (int64_t i = 0; i < count; ++i) out(i, j) = a(from + i, j);
  }
  return out;
}

// With its rows and columns in the opposite order.
template <class T>
Matrix<T> reversed(Matrix<T> a) {
  std::ranges::reverse(a.values());
  return a;
}
// With its rows in the opposite order.
template <class T>
Matrix<T> rows_reversed(Matrix<T> a) {
  for (int64_t j = 0; j < a.columns(); ++j) std::ranges::reverse(a.column(j));
  return a;
}

template <class T>
Matrix<T> product(const Matrix<T>& a, const Matrix<T>& b);

// b with a in its upper left corner.
template <class T, class U>
Matrix<T> with_corner(Matrix<T> b, const Matrix<U>& a) {
  for (int64_t j = 0; j < a.columns(); ++j) std::ranges::copy(a.column(j), b.column(j).begin());
  return b;
}

// The Euclidean norm, without overflow of the squares.
template <class T>
double norm_of(std::span<const T> x);

// The largest |re| or |im|; NaN where there is one.
template <class T>
double largest_part(const Matrix<T>& a);

template <class T>
bool all_finite(const Matrix<T>& a);

// NaN in every element.
template <class T>
Matrix<T> all_nan(int64_t rows, int64_t columns);

// The matrix whose given triangle a has, the other being its mirror image; the diagonal is real.
template <class T>
Matrix<T> hermitian(const Matrix<T>& a, bool lower);

// A power of two that brings the largest element of a near 1, so that squares neither overflow nor
// vanish; 1 where it is near enough.
template <class T>
double scale_for(const Matrix<T>& a);

template <class T>
void scale(Matrix<T>& a, double factor) {
  for (T& x : a.values()) x *= factor;
}

}  // namespace heddle::interpreter::linalg
