// When an element below the diagonal of a Hessenberg matrix counts as zero: the criterion of Ahues
// and Tisseur. source: Ahues and Tisseur, LAPACK Working Note 122
#pragma once

#include <cmath>
#include <limits>

#include "heddle/interpreter/linalg/internal/precision.h"

namespace heddle::interpreter::linalg {

inline double size_of(double x) { return std::abs(x); }
template <class R>
R size_of(std::complex<R> x) {
  return std::abs(x.real()) + std::abs(x.imag());
}

// h(k, k - 1) is negligible beside the 2 x 2 block around it. The matrix at work is [low, high).
template <class T>
bool is_negligible(const Matrix<T>& h, int64_t k, int64_t low, int64_t high, Real<T> ulp) {
  using R = Real<T>;
  const R coupling = size_of(h(k, k - 1));
  const R smallest = std::numeric_limits<R>::min() * (static_cast<R>(high - low) / ulp);
  if (coupling <= smallest) return true;
  R around = size_of(h(k - 1, k - 1)) + size_of(h(k, k));
  if (around == 0) {
    if (k - 2 >= low) around += size_of(h(k - 1, k - 2));
    if (k + 1 < high) around += size_of(h(k + 1, k));
  }
  if (coupling > ulp * around) return false;
  const R other = size_of(h(k - 1, k)), apart = size_of(h(k - 1, k - 1) - h(k, k));
  const R ab = std::max(coupling, other), ba = std::min(coupling, other);
  const R aa = std::max(size_of(h(k, k)), apart), bb = std::min(size_of(h(k, k)), apart);
  const R sum = aa + ab;
  return ba * (ab / sum) <= std::max(smallest, ulp * (bb * (aa / sum)));
}

// The first row of the unsplit block that ends at row `end` and begins at `from` or below; the
// element left of it is made 0.
template <class T>
int64_t find_start(Matrix<T>& h, int64_t from, int64_t end, int64_t low, int64_t high,
                   Real<T> ulp) {
  int64_t k = end;
  while (k > from && !is_negligible(h, k, low, high, ulp)) --k;
  if (k > low) h(k, k - 1) = T(0);
  return k;
}

}  // namespace heddle::interpreter::linalg
