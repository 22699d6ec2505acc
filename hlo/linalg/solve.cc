#include "heddle/hlo/linalg/internal/solve.h"

#include <cmath>

namespace heddle::hlo::linalg {
namespace {

template <class T>
double size_of(const T& x) {
  return std::abs(real_of(x)) + std::abs(imag_of(x));
}

template <class T>
int64_t find_pivot(const Matrix<T>& a, int64_t k) {
  int64_t best = k;
  for (int64_t i = k + 1; i < a.rows(); ++i) {
    if (size_of(a(i, k)) > size_of(a(best, k))) best = i;
  }
  return best;
}

// a(i, j) -= a(i, k) a(k, j) for what lies below and to the right of (k, k).
template <class T>
void eliminate(Matrix<T>& a, int64_t k) {
  for (int64_t j = k + 1; j < a.columns(); ++j) {
    const T factor = a(k, j);
    for (int64_t i = k + 1; i < a.rows(); ++i) a(i, j) -= a(i, k) * factor;
  }
}

}  // namespace

template <class T>
int lu(Matrix<T>& a, std::vector<int64_t>& pivots) {
  int info = 0;
  pivots.clear();
  for (int64_t k = 0; k < std::min(a.rows(), a.columns()); ++k) {
    const int64_t pivot = find_pivot(a, k);
    pivots.push_back(pivot);
    if (a(pivot, k) == T(0)) {
      if (info == 0) info = static_cast<int>(k + 1);
    } else {
      a.swap_rows(k, pivot);
      const T divisor = a(k, k);
      for (int64_t i = k + 1; i < a.rows(); ++i) a(i, k) /= divisor;
    }
    eliminate(a, k);
  }
  return info;
}

template <class T>
int cholesky(Matrix<T>& a, bool lower) {
  // U's rows are the adjoints of L's columns.
  auto at = [&](int64_t i, int64_t j) { return lower ? a(i, j) : conjugate(a(j, i)); };
  auto set = [&](int64_t i, int64_t j, T value) {
    (lower ? a(i, j) : a(j, i)) = lower ? value : conjugate(value);
  };
  for (int64_t j = 0; j < a.rows(); ++j) {
    double square = real_of(at(j, j));
    for (int64_t k = 0; k < j; ++k) square -= real_of(at(j, k) * conjugate(at(j, k)));
    set(j, j, T(square));
    if (!(square > 0)) return static_cast<int>(j + 1);
    const double pivot = std::sqrt(square);
    set(j, j, T(pivot));
    for (int64_t i = j + 1; i < a.rows(); ++i) {
      T sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * conjugate(at(j, k));
      set(i, j, sum / pivot);
    }
  }
  return 0;
}

template <class T>
void solve_triangular(const Triangular& form, const Matrix<T>& a, Matrix<T>& b) {
  const int64_t n = a.rows();
  // x op(a) = b is op(a)^T x^T = b^T: the rows of b are what is solved for, by the transposed
  // coefficients.
  const bool flip = (form.transposed != Transposed::kNo) == form.left;
  const bool lower = form.lower != flip;
  auto coefficient = [&](int64_t i, int64_t k) {
    const T value = flip ? a(k, i) : a(i, k);
    return form.transposed == Transposed::kConjugate ? conjugate(value) : value;
  };
  auto unknown = [&](int64_t i, int64_t j) -> T& { return form.left ? b(i, j) : b(j, i); };
  const int64_t count = form.left ? b.columns() : b.rows();
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t step = 0; step < n; ++step) {
      const int64_t k = lower ? step : n - 1 - step;
      if (!form.unit_diagonal) unknown(k, j) /= coefficient(k, k);
      const T x = unknown(k, j);
      for (int64_t i = lower ? k + 1 : 0; i < (lower ? n : k); ++i)
        unknown(i, j) -= coefficient(i, k) * x;
    }
  }
}

namespace {

// Rows i and i + 1 of the tridiagonal matrix, made upper triangular in column i.
template <class T>
void eliminate_tridiagonal(size_t i, std::span<T> below, std::span<T> diagonal, std::span<T> above,
                           Matrix<T>& b) {
  const auto row = static_cast<int64_t>(i);
  const bool has_second = i + 1 < above.size();
  if (size_of(diagonal[i]) >= size_of(below[i])) {
    const T factor = below[i] / diagonal[i];
    diagonal[i + 1] -= factor * above[i];
    for (int64_t j = 0; j < b.columns(); ++j) b(row + 1, j) -= factor * b(row, j);
    below[i] = T(0);
    return;
  }
  const T factor = diagonal[i] / below[i];
  diagonal[i] = below[i];
  const T next = diagonal[i + 1];
  diagonal[i + 1] = above[i] - factor * next;
  below[i] = has_second ? above[i + 1] : T(0);
  if (has_second) above[i + 1] = -factor * below[i];
  above[i] = next;
  for (int64_t j = 0; j < b.columns(); ++j) {
    const T upper = b(row, j);
    b(row, j) = b(row + 1, j);
    b(row + 1, j) = upper - factor * b(row + 1, j);
  }
}

}  // namespace

template <class T>
int solve_tridiagonal(std::span<T> below, std::span<T> diagonal, std::span<T> above, Matrix<T>& b) {
  const size_t n = diagonal.size();
  for (size_t i = 0; i + 1 < n; ++i) {
    if (diagonal[i] == T(0) && below[i] == T(0)) return static_cast<int>(i + 1);
    eliminate_tridiagonal(i, below, diagonal, above, b);
  }
  if (n > 0 && diagonal[n - 1] == T(0)) return static_cast<int>(n);
  for (int64_t j = 0; j < b.columns(); ++j) {
    for (size_t i = n; i-- > 0;) {
      const auto row = static_cast<int64_t>(i);
      T sum = b(row, j);
      if (i + 1 < n) sum -= above[i] * b(row + 1, j);
      if (i + 2 < n) sum -= below[i] * b(row + 2, j);
      b(row, j) = sum / diagonal[i];
    }
  }
  return 0;
}

#define HEDDLE_INSTANTIATE(T)                                                      \
  template int lu(Matrix<T>&, std::vector<int64_t>&);                              \
  template int cholesky(Matrix<T>&, bool);                                         \
  template void solve_triangular(const Triangular&, const Matrix<T>&, Matrix<T>&); \
  template int solve_tridiagonal(std::span<T>, std::span<T>, std::span<T>, Matrix<T>&);
HEDDLE_INSTANTIATE(double)
HEDDLE_INSTANTIATE(Complex)
#undef HEDDLE_INSTANTIATE

}  // namespace heddle::hlo::linalg
