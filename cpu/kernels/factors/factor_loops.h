// The loops of factors.h. Each factors_<isa>.cc includes this file under its own compiler flags, so
// all of it is in an anonymous namespace and calls no inline function of external linkage.
//
// source: Golub and Van Loan, Matrix Computations, chapters 3 and 4
#pragma once

#include <cfloat>
#include <cstdint>

#include "heddle/cpu/kernels/factors/factors.h"

namespace heddle::cpu {
namespace {

template <class T>
T size_of(T x) {
  return x < 0 ? -x : x;
}

template <class T>
constexpr T least_normal() {
  return sizeof(T) == sizeof(float) ? static_cast<T>(FLT_MIN) : static_cast<T>(DBL_MIN);
}

inline float root_of(float x) { return __builtin_sqrtf(x); }
inline double root_of(double x) { return __builtin_sqrt(x); }

// row[j] -= by * pivot_row[j] for k < j < end, of a whole block that is read and written.
template <class T>
void eliminate(T* __restrict row, const T* __restrict pivot_row, T by, int64_t k, int64_t end) {
  for (int64_t j = 0; j < kFactorBlock; ++j)
    row[j] = j > k && j < end ? row[j] - by * pivot_row[j] : row[j];
}

template <class T>
int lu(T* a, int64_t stride, int64_t rows, int64_t columns, int32_t* pivots) {
  int info = 0;
  for (int64_t k = 0; k < columns; ++k) {
    int64_t pivot = k;
    T most = size_of(a[k * stride + k]);
    for (int64_t i = k + 1; i < rows; ++i) {
      const T size = size_of(a[i * stride + k]);
      if (size > most) most = size, pivot = i;
    }
    pivots[k] = static_cast<int32_t>(pivot);
    T* top = a + k * stride;
    for (int64_t j = 0; j < columns && pivot != k; ++j) {
      const T x = top[j];
      top[j] = a[pivot * stride + j];
      a[pivot * stride + j] = x;
    }
    if (top[k] == 0) {
      if (info == 0) info = static_cast<int>(k + 1);
      continue;
    }
    // The reciprocal of a number below the least normal one may be infinite.
    const bool divides = most < least_normal<T>();
    const T factor = 1 / top[k];
    for (int64_t i = k + 1; i < rows; ++i) {
      T* row = a + i * stride;
      row[k] = divides ? row[k] / top[k] : row[k] * factor;
      eliminate(row, top, row[k], k, columns);
    }
  }
  return info;
}

template <class T>
int cholesky(T* a, int64_t stride, int64_t n) {
  T column[kFactorBlock] = {};
  for (int64_t k = 0; k < n; ++k) {
    const T square = a[k * stride + k];
    if (!(square > 0)) return static_cast<int>(k + 1);
    const T pivot = root_of(square);
    a[k * stride + k] = pivot;
    for (int64_t i = k + 1; i < n; ++i) a[i * stride + k] = column[i] = a[i * stride + k] / pivot;
    for (int64_t i = k + 1; i < n; ++i) eliminate(a + i * stride, column, column[i], k, n);
  }
  return 0;
}

template <class T>
void solve_rows(const TriangularBlock<T>& s, int64_t columns) {
  for (int64_t k = 0; k < s.n; ++k) {
    T* __restrict known = s.x + k * s.x_row;
    if (!s.unit_diagonal) {
      const T diagonal = s.a[k * (s.a_row + s.a_column)];
      for (int64_t j = 0; j < columns; ++j) known[j] /= diagonal;
    }
    for (int64_t i = k + 1; i < s.n; ++i) {
      T* __restrict row = s.x + i * s.x_row;
      const T by = s.a[i * s.a_row + k * s.a_column];
      for (int64_t j = 0; j < columns; ++j) row[j] -= by * known[j];
    }
  }
}

// y[i] -= by * x[i], upwards from the lower ends.
template <class T>
void subtract_scaled(T* __restrict y, const T* __restrict x, T by, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] -= by * x[i];
}

template <class T>
T dot(const T* x, const T* y, int64_t n) {
  constexpr int64_t kLanes = 8;
  T sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  }
  T rest = 0;
  for (; i < n; ++i) rest += x[i] * y[i];
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0] + rest;
}

// Of two pointers the lower end of n elements that lie `step` = 1 or -1 apart.
template <class P>
P low_end(P first, int64_t step, int64_t n) {
  return step < 0 ? first - (n - 1) : first;
}

template <class T>
void solve_vector(const TriangularBlock<T>& s) {
  const bool by_columns = s.a_row == s.x_row;  // coefficients of one unknown are contiguous
  for (int64_t k = 0; k < s.n; ++k) {
    T& x = s.x[k * s.x_row];
    if (!by_columns && k > 0)
      x -= dot(low_end(s.a + k * s.a_row, s.a_column, k), low_end(s.x, s.x_row, k), k);
    if (!s.unit_diagonal) x /= s.a[k * (s.a_row + s.a_column)];
    const int64_t left = s.n - k - 1;
    if (by_columns && left > 0) {
      const T* below = s.a + (k + 1) * s.a_row + k * s.a_column;
      subtract_scaled(low_end(&x + s.x_row, s.x_row, left), low_end(below, s.a_row, left), x, left);
    }
  }
}

template <class T>
constexpr FactorLoops<T> kLoops = {lu<T>, cholesky<T>, solve_rows<T>, solve_vector<T>};

}  // namespace
}  // namespace heddle::cpu
