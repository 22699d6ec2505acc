// The loops of spectra.h: Jacobi's rotations with a lane for each matrix. Each spectra_<isa>.cc
// includes this file under its own compiler flags, so all of it is in an anonymous namespace and
// calls no inline function of external linkage.
//
// source: Golub and Van Loan, Matrix Computations, 8.5 (cyclic Jacobi) and 8.6.3 (one-sided)
#pragma once

#include <cfloat>
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "heddle/cpu/kernels/spectra/spectra.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // no vector leaves this file's functions for another's

namespace heddle::cpu {
namespace {

#if defined(__AVX512F__)
constexpr int kSpectrumBytes = 64;
#elif defined(__AVX2__)
constexpr int kSpectrumBytes = 32;
#else
constexpr int kSpectrumBytes = 16;
#endif
constexpr int kMostSweeps = 16;  // small matrices take 4 to 7

template <class T>
struct SpectrumLanes {
  static constexpr int kCount = kSpectrumBytes / static_cast<int>(sizeof(T));
  static constexpr T kEpsilon =
      sizeof(T) == sizeof(float) ? T(FLT_EPSILON / 2) : T(DBL_EPSILON / 2);
  static constexpr T kLeastNormal = sizeof(T) == sizeof(float) ? T(FLT_MIN) : T(DBL_MIN);
  typedef T V __attribute__((vector_size(kSpectrumBytes)));
  using Mask = decltype(V{} < V{});
};

template <class T>
using SpectrumVector = typename SpectrumLanes<T>::V;
template <class T>
using SpectrumMask = typename SpectrumLanes<T>::Mask;

// Square roots of all lanes.
#if defined(__AVX512F__)
inline SpectrumVector<float> root(SpectrumVector<float> x) { return _mm512_maskz_sqrt_ps(-1, x); }
inline SpectrumVector<double> root(SpectrumVector<double> x) { return _mm512_maskz_sqrt_pd(-1, x); }
#elif defined(__AVX2__)
inline SpectrumVector<float> root(SpectrumVector<float> x) { return _mm256_sqrt_ps(x); }
inline SpectrumVector<double> root(SpectrumVector<double> x) { return _mm256_sqrt_pd(x); }
#else
inline SpectrumVector<float> root(SpectrumVector<float> x) {
  for (int lane = 0; lane < SpectrumLanes<float>::kCount; ++lane)
    x[lane] = __builtin_sqrtf(x[lane]);
  return x;
}
inline SpectrumVector<double> root(SpectrumVector<double> x) {
  for (int lane = 0; lane < SpectrumLanes<double>::kCount; ++lane)
    x[lane] = __builtin_sqrt(x[lane]);
  return x;
}
#endif

template <class V>
V absolute(V x) {
  return x < 0 ? -x : x;
}

template <class Mask>
bool any_of(Mask mask) {
  int64_t bits = 0;
  for (int lane = 0; lane < static_cast<int>(sizeof(mask) / sizeof(mask[0])); ++lane)
    bits |= mask[lane];
  return bits != 0;
}

// The turn by which a symmetric [p g; g q] is diagonal, where `turns` says so; else none.
template <class T>
struct LaneRotation {
  SpectrumVector<T> c, s, tangent;

  LaneRotation(SpectrumVector<T> p, SpectrumVector<T> g, SpectrumVector<T> q,
               SpectrumMask<T> turns) {
    const SpectrumVector<T> ratio = (q - p) / (2 * g), size = absolute(ratio);
    const SpectrumVector<T> least = 1 / (size + root(size * size + 1));
    tangent = turns ? (ratio < 0 ? -least : least) : SpectrumVector<T>{};
    c = 1 / root(tangent * tangent + 1);
    s = tangent * c;
  }
};

// One lane for each of some matrices: element k of all of them, `size` each. Lanes past the last
// matrix have zeros.
template <class T>
class SpectrumLoader {
 public:
  using Lanes = SpectrumLanes<T>;
  using V = typename Lanes::V;

  SpectrumLoader(const T* a, int64_t size, int64_t count) : a_(a), size_(size), count_(count) {}

  V at(int64_t k) {
    alignas(kSpectrumBytes) T lanes[Lanes::kCount] = {};
    for (int64_t lane = 0; lane < count_; ++lane) lanes[lane] = a_[lane * size_ + k];
    V x;
    __builtin_memcpy(&x, lanes, sizeof x);
    const V size = absolute(x);
    most_ = size > most_ ? size : most_;
    bad_ |= !(size - size == 0);  // no number, or infinite
    return x;
  }

  // Of what at() gave: squares, and sums of a few of them, are finite, and those that count are
  // normal numbers.
  [[nodiscard]] bool is_usual() const {
    constexpr T kLeast = sizeof(T) == sizeof(float) ? T(2e-12) : T(1e-138);
    return !any_of(bad_ | (most_ > 1 / kLeast) | ((most_ < kLeast) & (most_ > 0)));
  }

 private:
  const T* a_;
  int64_t size_, count_;
  V most_ = {};
  typename Lanes::Mask bad_ = {};
};

// The values of each lane in order, one matrix after the other.
template <class T, int n>
void store_sorted(SpectrumVector<T> (&values)[n], bool ascends, int64_t count, T* to) {
  using V = SpectrumVector<T>;
  for (int end = n - 1; end > 0; --end) {
    for (int i = 0; i < end; ++i) {
      const V x = values[i], y = values[i + 1], low = x < y ? x : y, high = x < y ? y : x;
      values[i] = ascends ? low : high;
      values[i + 1] = ascends ? high : low;
    }
  }
  for (int64_t lane = 0; lane < count; ++lane) {
    for (int i = 0; i < n; ++i) to[lane * n + i] = values[i][lane];
  }
}

// Turns rows and columns p and q of the upper triangle m, so that m[p][q] is zero.
template <class T, int n>
void rotate_symmetric(SpectrumVector<T> (&m)[n][n], int p, int q, SpectrumMask<T> active) {
  using V = SpectrumVector<T>;
  const SpectrumMask<T> turns = active & (m[p][q] != 0);
  const LaneRotation<T> by(m[p][p], m[p][q], m[q][q], turns);
  const V moved = by.tangent * m[p][q];
  m[p][p] -= moved;
  m[q][q] += moved;
  m[p][q] = turns ? V{} : m[p][q];
  for (int k = 0; k < n; ++k) {
    if (k == p || k == q) continue;
    V& x = k < p ? m[k][p] : m[p][k];
    V& y = k < q ? m[k][q] : m[q][k];
    const V turned = by.c * x - by.s * y;
    y = by.s * x + by.c * y;
    x = turned;
  }
}

template <class T, int n>
bool eigenvalues_of(const T* a, int64_t count, bool lower, T* values) {
  using Lanes = SpectrumLanes<T>;
  using V = typename Lanes::V;
  for (int64_t first = 0; first < count; first += Lanes::kCount) {
    const int64_t lanes = count - first < Lanes::kCount ? count - first : Lanes::kCount;
    SpectrumLoader<T> from(a + first * n * n, n * n, lanes);
    V m[n][n], total = {};
    for (int i = 0; i < n; ++i) {
      for (int j = i; j < n; ++j) {
        m[i][j] = from.at(lower ? j * n + i : i * n + j);
        total += m[i][j] * m[i][j];
      }
    }
    if (!from.is_usual()) return false;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      V off = {};
      for (int i = 0; i < n; ++i)
        for (int j = i + 1; j < n; ++j) off += m[i][j] * m[i][j];
      // What is left moves an eigenvalue by its square root at most.
      const typename Lanes::Mask active = off > total * (Lanes::kEpsilon * Lanes::kEpsilon / 16);
      if (!any_of(active)) break;
      for (int p = 0; p < n; ++p)
        for (int q = p + 1; q < n; ++q) rotate_symmetric<T, n>(m, p, q, active);
    }
    V diagonal[n];
    for (int i = 0; i < n; ++i) diagonal[i] = m[i][i];
    store_sorted<T, n>(diagonal, true, lanes, values + first * n);
  }
  return true;
}

// Turns columns x and y of `rows` elements until they are orthogonal. Returns where they were not.
template <class T>
SpectrumMask<T> rotate_columns(SpectrumVector<T>* x, SpectrumVector<T>* y, int64_t rows) {
  using Lanes = SpectrumLanes<T>;
  using V = typename Lanes::V;
  V xx = {}, xy = {}, yy = {};
  for (int64_t i = 0; i < rows; ++i) {
    xx += x[i] * x[i];
    xy += x[i] * y[i];
    yy += y[i] * y[i];
  }
  const T tolerance = Lanes::kEpsilon * static_cast<T>(rows);
  const typename Lanes::Mask turns =
      (absolute(xy) > tolerance * root(xx) * root(yy)) & (absolute(xy) >= Lanes::kLeastNormal);
  if (!any_of(turns)) return turns;
  const LaneRotation<T> by(xx, xy, yy, turns);
  for (int64_t i = 0; i < rows; ++i) {
    const V turned = by.c * x[i] - by.s * y[i];
    y[i] = by.s * x[i] + by.c * y[i];
    x[i] = turned;
  }
  return turns;
}

// n <= rows columns; `across` and `down` are the steps from one of them, and of its elements, to
// the next in memory.
template <class T, int n>
bool singular_values_of(const T* a, int64_t count, int64_t rows, int64_t across, int64_t down,
                        T* values) {
  using Lanes = SpectrumLanes<T>;
  using V = typename Lanes::V;
  for (int64_t first = 0; first < count; first += Lanes::kCount) {
    const int64_t lanes = count - first < Lanes::kCount ? count - first : Lanes::kCount;
    SpectrumLoader<T> from(a + first * n * rows, n * rows, lanes);
    V columns[n][kMostSpectrumRows];
    for (int j = 0; j < n; ++j)
      for (int64_t i = 0; i < rows; ++i) columns[j][i] = from.at(j * across + i * down);
    if (!from.is_usual()) return false;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      typename Lanes::Mask turned = {};
      for (int p = 0; p < n; ++p)
        for (int q = p + 1; q < n; ++q) turned |= rotate_columns<T>(columns[p], columns[q], rows);
      if (!any_of(turned)) break;
    }
    V lengths[n];
    for (int j = 0; j < n; ++j) {
      V square = {};
      for (int64_t i = 0; i < rows; ++i) square += columns[j][i] * columns[j][i];
      lengths[j] = root(square);
    }
    store_sorted<T, n>(lengths, false, lanes, values + first * n);
  }
  return true;
}

template <class T>
bool eigenvalues(const T* a, int64_t count, int64_t rows, bool lower, T* values) {
  using Of = bool (*)(const T*, int64_t, bool, T*);
  constexpr Of kOf[kMostSpectrumRows] = {
      eigenvalues_of<T, 1>, eigenvalues_of<T, 2>, eigenvalues_of<T, 3>, eigenvalues_of<T, 4>,
      eigenvalues_of<T, 5>, eigenvalues_of<T, 6>, eigenvalues_of<T, 7>, eigenvalues_of<T, 8>};
  return kOf[rows - 1](a, count, lower, values);
}

template <class T>
bool singular_values(const T* a, int64_t count, int64_t rows, int64_t columns, T* values) {
  using Of = bool (*)(const T*, int64_t, int64_t, int64_t, int64_t, T*);
  constexpr Of kOf[kMostSpectrumRows] = {singular_values_of<T, 1>, singular_values_of<T, 2>,
                                         singular_values_of<T, 3>, singular_values_of<T, 4>,
                                         singular_values_of<T, 5>, singular_values_of<T, 6>,
                                         singular_values_of<T, 7>, singular_values_of<T, 8>};
  if (rows < columns) return kOf[rows - 1](a, count, columns, columns, 1, values);
  return kOf[columns - 1](a, count, rows, 1, columns, values);
}

template <class T>
constexpr SpectrumLoops<T> kSpectrumLoops = {eigenvalues<T>, singular_values<T>};

}  // namespace
}  // namespace heddle::cpu
