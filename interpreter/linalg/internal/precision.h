// We compute in double. But the order of eigenvalues and the signs of vectors hang on the roundings
// and thresholds of LAPACK's own steps, and its routines for f32 and c64 take them in f32.
#pragma once

#include <cmath>

#include "heddle/interpreter/linalg/internal/matrix.h"

namespace heddle::interpreter::linalg {

// Which of LAPACK's routines is followed: s and c, or d and z.
enum class Precision : uint8_t { kSingle, kDouble };

template <class T>
using Real = decltype(real_of(T()));

// A power of two that brings `largest` near 1, so that all is in the range of f32; 1 for 0.
inline double unit_scale(double largest) {
  return largest > 0 ? std::exp2(-std::ilogb(largest)) : 1;
}

// a times a factor, rounded to another type.
template <class To, class From>
Matrix<To> converted(const Matrix<From>& a, double factor) {
  Matrix<To> out(a.rows(), a.columns());
  std::ranges::transform(a.values(), out.values().begin(), [=](const From& x) {
    return static_cast<To>(x * static_cast<Real<From>>(factor));
  });
  return out;
}

// A real tridiagonal or bidiagonal matrix in f32, times a power of two.
struct SingleBand {
  std::vector<float> d, e;
};
inline SingleBand single_band(std::span<const double> d, std::span<const double> e) {
  double largest = 0;
  for (double x : d) largest = std::max(largest, std::abs(x));
  for (double x : e) largest = std::max(largest, std::abs(x));
  const double factor = unit_scale(largest);
  SingleBand out;
  for (double x : d) out.d.push_back(static_cast<float>(x * factor));
  for (double x : e) out.e.push_back(static_cast<float>(x * factor));
  return out;
}

// The inner product of a vector and one of the other precision.
inline double along(std::span<const float> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * b[i];
  return sum;
}

inline void negate(std::span<double> v) {
  for (double& x : v) x = -x;
}

}  // namespace heddle::interpreter::linalg
