// Dense matrices of LAPACK's four types. The ops cholesky and triangular-solve compute other floats
// in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace heddle::interpreter::linalg {

using Complex = std::complex<double>;
using SingleComplex = std::complex<float>;
using Int = int32_t;  // LAPACK's sizes

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

template <class T>
using Real = decltype(real_of(T()));

// A macro, for explicit instantiations.
#define HEDDLE_FOR_FIELDS(instantiate) \
  instantiate(float) instantiate(double) instantiate(SingleComplex) instantiate(Complex)

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

// b with a in its upper left corner.
template <class T, class U>
Matrix<T> with_corner(Matrix<T> b, const Matrix<U>& a) {
  for (int64_t j = 0; j < a.columns(); ++j) std::ranges::copy(a.column(j), b.column(j).begin());
  return b;
}

template <class T>
bool all_finite(const Matrix<T>& a) {
  return std::ranges::all_of(a.values(), [](const T& x) {
    return std::isfinite(real_of(x)) && std::isfinite(imag_of(x));
  });
}

// NaN in every element.
template <class T>
void fill_nan(Matrix<T>& a) {
  std::ranges::fill(a.values(), T(std::numeric_limits<Real<T>>::quiet_NaN()));
}

// The matrix whose given triangle a has, the other being its mirror image; the diagonal is real.
template <class T>
Matrix<T> hermitian(const Matrix<T>& a, bool lower) {
  Matrix<T> out(a.rows(), a.rows());
  for (int64_t j = 0; j < a.rows(); ++j) {
    out(j, j) = real_of(a(j, j));
    for (int64_t i = j + 1; i < a.rows(); ++i) {
      out(i, j) = lower ? a(i, j) : conjugate(a(j, i));
      out(j, i) = conjugate(out(i, j));
    }
  }
  return out;
}

}  // namespace heddle::interpreter::linalg
