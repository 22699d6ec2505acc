#include "heddle/interpreter/linalg/internal/matrix.h"

#include <cmath>
#include <limits>

#include "heddle/interpreter/linalg/internal/dense.h"

namespace heddle::interpreter::linalg {

template <class T>
Matrix<T> product(const Matrix<T>& a, const Matrix<T>& b) {
  return matrix_of<T>(map(a) * map(b));
}

template <class T>
double norm_of(std::span<const T> x) {
  double largest = 0;
  for (const T& each : x)
    largest = std::max({largest, std::abs(real_of(each)), std::abs(imag_of(each))});
  const bool safe = largest > 1e-140 && largest < 1e140;
  double sum = 0;
  for (const T& each : x) {
    const double re = safe || largest == 0 ? real_of(each) : real_of(each) / largest;
    const double im = safe || largest == 0 ? imag_of(each) : imag_of(each) / largest;
    sum += re * re + im * im;
  }
  return safe || largest == 0 ? std::sqrt(sum) : largest * std::sqrt(sum);
}

template <class T>
double largest_part(const Matrix<T>& a) {
  double largest = 0;
  for (const T& x : a.values()) {
    const double part = std::max(std::abs(real_of(x)), std::abs(imag_of(x)));
    if (std::isnan(real_of(x)) || std::isnan(imag_of(x)))
      return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, part);
  }
  return largest;
}

template <class T>
bool all_finite(const Matrix<T>& a) {
  return std::isfinite(largest_part(a));
}

template <class T>
Matrix<T> all_nan(int64_t rows, int64_t columns) {
  Matrix<T> out(rows, columns);
  std::ranges::fill(out.values(), T(std::numeric_limits<double>::quiet_NaN()));
  return out;
}

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

template <class T>
double scale_for(const Matrix<T>& a) {
  const double largest = largest_part(a);
  if (!(largest > 0) || !std::isfinite(largest) || (largest > 1e-100 && largest < 1e100)) return 1;
  return std::exp2(-std::clamp(std::ilogb(largest), -1000, 1000));
}

template Matrix<double> product(const Matrix<double>&, const Matrix<double>&);
template Matrix<Complex> product(const Matrix<Complex>&, const Matrix<Complex>&);
template double norm_of<double>(std::span<const double>);
template double norm_of<Complex>(std::span<const Complex>);
template double largest_part(const Matrix<double>&);
template double largest_part(const Matrix<Complex>&);
template bool all_finite(const Matrix<double>&);
template bool all_finite(const Matrix<Complex>&);
template Matrix<double> all_nan(int64_t, int64_t);
template Matrix<Complex> all_nan(int64_t, int64_t);
template Matrix<double> hermitian(const Matrix<double>&, bool);
template Matrix<Complex> hermitian(const Matrix<Complex>&, bool);
template Matrix<float> hermitian(const Matrix<float>&, bool);
template Matrix<SingleComplex> hermitian(const Matrix<SingleComplex>&, bool);
template double scale_for(const Matrix<double>&);
template double scale_for(const Matrix<Complex>&);

}  // namespace heddle::interpreter::linalg
