// Rows in memory to points with a lane for each row, and back, by transposing squares of vectors.
// Included by one file for each instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "heddle/cpu/kernels/fft.h"
#include "heddle/cpu/kernels/unroll.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // no vector leaves this file's functions for another's

namespace heddle::cpu {
namespace {

template <class T>
struct FftLanes {
  static constexpr int kCount = kFftVectorBytes / static_cast<int>(sizeof(T));
  typedef T Vector __attribute__((vector_size(kFftVectorBytes), aligned(kFftVectorBytes)));
  typedef T Anywhere __attribute__((vector_size(kFftVectorBytes), aligned(sizeof(T)), may_alias));
};

template <class T>
struct Moves {
  using V = typename FftLanes<T>::Vector;
  using Anywhere = typename FftLanes<T>::Anywhere;
  static constexpr int kLanes = FftLanes<T>::kCount;
  static constexpr int kHalf = kLanes / 2;

  [[gnu::always_inline]] static V at(const T* from) {
    return *reinterpret_cast<const Anywhere*>(from);
  }
  [[gnu::always_inline]] static void put(T* to, const V& x) {
    *reinterpret_cast<Anywhere*>(to) = x;
  }

  // Lane l is pick(l): of x where that is below the number of lanes, else of y.
  template <class Pick>
  [[gnu::always_inline]] static V shuffled(const V& x, const V& y, Pick pick) {
#if defined(__AVX512F__) && !defined(__clang__)
    using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    typedef Index Lanes __attribute__((vector_size(kFftVectorBytes)));
    Lanes from = {};
    for (int l = 0; l < kLanes; ++l) from[l] = pick(l);
    return __builtin_shuffle(x, y, from);
#else
    V out;
    for (int l = 0; l < kLanes; ++l) out[l] = pick(l) < kLanes ? x[pick(l)] : y[pick(l) - kLanes];
    return out;
#endif
  }

  [[gnu::always_inline]] static V low_lanes(const V& x, const V& y) {
    return shuffled(x, y, [](int l) { return l / 2 + l % 2 * kLanes; });
  }
  [[gnu::always_inline]] static V high_lanes(const V& x, const V& y) {
    return shuffled(x, y, [](int l) { return kHalf + l / 2 + l % 2 * kLanes; });
  }

  // Each step interleaves the first half of the vectors with the second one; where vectors are made
  // of parts, numbers move one by one.
  [[gnu::always_inline]] static void transpose(V (&x)[kLanes]) {
    V y[kLanes];
#if defined(__AVX512F__)
    HEDDLE_UNROLL
    for (int step = 1; step < kLanes; step *= 2) {
      HEDDLE_UNROLL
      for (int i = 0; i < kHalf; ++i) {
        y[2 * i] = low_lanes(x[i], x[i + kHalf]);
        y[2 * i + 1] = high_lanes(x[i], x[i + kHalf]);
      }
      HEDDLE_UNROLL
      for (int i = 0; i < kLanes; ++i) x[i] = y[i];
    }
#else
    std::copy_n(x, kLanes, y);
    for (int i = 0; i < kLanes; ++i)
      for (int l = 0; l < kLanes; ++l) x[i][l] = y[l][i];
#endif
  }

  static V& re(T* data, int64_t k) { return *reinterpret_cast<V*>(data + 2 * k * kLanes); }
  static V& im(T* data, int64_t k) { return *reinterpret_cast<V*>(data + (2 * k + 1) * kLanes); }

  static void load_complex(const T* const* rows, int64_t n, bool swapped, T* data) {
    int64_t k = 0;
    for (; k + kHalf <= n; k += kHalf) {
      V x[kLanes];
      for (int l = 0; l < kLanes; ++l) x[l] = at(rows[l] + 2 * k);
      transpose(x);
      for (int j = 0; j < kHalf; ++j) {
        re(data, k + j) = x[2 * j + (swapped ? 1 : 0)];
        im(data, k + j) = x[2 * j + (swapped ? 0 : 1)];
      }
    }
    for (; k < n; ++k) {
      for (int l = 0; l < kLanes; ++l) {
        re(data, k)[l] = rows[l][2 * k + (swapped ? 1 : 0)];
        im(data, k)[l] = rows[l][2 * k + (swapped ? 0 : 1)];
      }
    }
  }

  static void store_complex(T* data, int64_t n, bool swapped, T factor, T* const* rows) {
    int64_t k = 0;
    for (; k + kHalf <= n; k += kHalf) {
      V x[kLanes];
      for (int j = 0; j < kHalf; ++j) {
        x[2 * j + (swapped ? 1 : 0)] = re(data, k + j) * factor;
        x[2 * j + (swapped ? 0 : 1)] = im(data, k + j) * factor;
      }
      transpose(x);
      for (int l = 0; l < kLanes; ++l) put(rows[l] + 2 * k, x[l]);
    }
    for (; k < n; ++k) {
      for (int l = 0; l < kLanes; ++l) {
        rows[l][2 * k + (swapped ? 1 : 0)] = re(data, k)[l] * factor;
        rows[l][2 * k + (swapped ? 0 : 1)] = im(data, k)[l] * factor;
      }
    }
  }

  // Of rows that lie side by side: point k of all of them at from + k * step.
  static void load_columns(const T* from, int64_t step, int64_t n, bool swapped, T* data) {
    for (int64_t k = 0; k < n; ++k) {
      const V x = at(from + k * step), y = at(from + k * step + kLanes);
      const V a = shuffled(x, y, [](int l) { return 2 * l; });
      const V b = shuffled(x, y, [](int l) { return 2 * l + 1; });
      re(data, k) = swapped ? b : a;
      im(data, k) = swapped ? a : b;
    }
  }

  static void store_columns(T* data, int64_t n, bool swapped, T factor, T* to, int64_t step) {
    for (int64_t k = 0; k < n; ++k) {
      const V a = (swapped ? im(data, k) : re(data, k)) * factor;
      const V b = (swapped ? re(data, k) : im(data, k)) * factor;
      put(to + k * step, low_lanes(a, b));
      put(to + k * step + kLanes, high_lanes(a, b));
    }
  }

  // Rows of real numbers go in pairs: twice as many rows as lanes.
  static void load_real(const T* const* rows, int64_t n, T* data) {
    for (int part = 0; part < 2; ++part) {
      int64_t k = 0;
      for (; k + kLanes <= n; k += kLanes) {
        V x[kLanes];
        for (int l = 0; l < kLanes; ++l) x[l] = at(rows[2 * l + part] + k);
        transpose(x);
        for (int j = 0; j < kLanes; ++j) (part == 0 ? re(data, k + j) : im(data, k + j)) = x[j];
      }
      for (; k < n; ++k)
        for (int l = 0; l < kLanes; ++l)
          (part == 0 ? re(data, k) : im(data, k))[l] = rows[2 * l + part][k];
    }
  }

  static void store_real(T* data, int64_t n, bool swapped, T factor, T* const* rows) {
    for (int part = 0; part < 2; ++part) {
      const bool is_re = (part == 0) != swapped;
      int64_t k = 0;
      for (; k + kLanes <= n; k += kLanes) {
        V x[kLanes];
        for (int j = 0; j < kLanes; ++j)
          x[j] = (is_re ? re(data, k + j) : im(data, k + j)) * factor;
        transpose(x);
        for (int l = 0; l < kLanes; ++l) put(rows[2 * l + part] + k, x[l]);
      }
      for (; k < n; ++k)
        for (int l = 0; l < kLanes; ++l)
          rows[2 * l + part][k] = (is_re ? re(data, k) : im(data, k))[l] * factor;
    }
  }

  // The first n / 2 + 1 points of both rows of a pair, from those of their sum.
  static void store_halves(T* data, int64_t n, T* const* rows) {
    const T half = T{1} / 2;
    for (int64_t k = 0; k <= n / 2; k += kHalf) {
      const int64_t count = std::min<int64_t>(kHalf, n / 2 + 1 - k);
      V first[kLanes] = {}, second[kLanes] = {};
      for (int64_t j = 0; j < count; ++j) {
        const int64_t other = k + j == 0 ? 0 : n - k - j;
        const V a = re(data, k + j), b = im(data, k + j), c = re(data, other), d = im(data, other);
        first[2 * j] = (a + c) * half;
        first[2 * j + 1] = (b - d) * half;
        second[2 * j] = (b + d) * half;
        second[2 * j + 1] = (c - a) * half;
      }
      transpose(first);
      transpose(second);
      for (int l = 0; l < kLanes; ++l) {
        if (count == kHalf) {
          put(rows[2 * l] + 2 * k, first[l]);
          put(rows[2 * l + 1] + 2 * k, second[l]);
          continue;
        }
        for (int64_t i = 0; i < 2 * count; ++i) {
          rows[2 * l][2 * k + i] = first[l][i];
          rows[2 * l + 1][2 * k + i] = second[l][i];
        }
      }
    }
  }

  // The sum of both rows of a pair, all n points of it.
  static void load_halves(const T* const* rows, int64_t n, bool swapped, T* data) {
    const auto real = [&](int64_t k) -> V& { return swapped ? im(data, k) : re(data, k); };
    const auto imaginary = [&](int64_t k) -> V& { return swapped ? re(data, k) : im(data, k); };
    for (int64_t k = 0; k <= n / 2; k += kHalf) {
      const int64_t count = std::min<int64_t>(kHalf, n / 2 + 1 - k);
      V first[kLanes] = {}, second[kLanes] = {};
      for (int l = 0; l < kLanes; ++l) {
        if (count == kHalf) {
          first[l] = at(rows[2 * l] + 2 * k);
          second[l] = at(rows[2 * l + 1] + 2 * k);
          continue;
        }
        for (int64_t i = 0; i < 2 * count; ++i) {
          first[l][i] = rows[2 * l][2 * k + i];
          second[l][i] = rows[2 * l + 1][2 * k + i];
        }
      }
      transpose(first);
      transpose(second);
      for (int64_t j = 0; j < count; ++j) {
        const bool is_real = k + j == 0 || 2 * (k + j) == n;
        const V none = {};
        const V a = first[2 * j], b = is_real ? none : first[2 * j + 1];
        const V c = second[2 * j], d = is_real ? none : second[2 * j + 1];
        real(k + j) = a - d;
        imaginary(k + j) = b + c;
        if (is_real) continue;
        real(n - k - j) = a + d;
        imaginary(n - k - j) = c - b;
      }
    }
  }
};

template <class T>
constexpr FftMoves<T> kMoves = {
    .load_complex = Moves<T>::load_complex,
    .store_complex = Moves<T>::store_complex,
    .load_columns = Moves<T>::load_columns,
    .store_columns = Moves<T>::store_columns,
    .load_real = Moves<T>::load_real,
    .store_real = Moves<T>::store_real,
    .load_halves = Moves<T>::load_halves,
    .store_halves = Moves<T>::store_halves,
};

}  // namespace
}  // namespace heddle::cpu
