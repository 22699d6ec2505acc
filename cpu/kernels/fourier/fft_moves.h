// Rows in memory to points with a lane for each row, and back, by transposing squares of vectors.
// Included by one file for each instruction set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "heddle/cpu/kernels/fourier/fft.h"
#include "heddle/cpu/kernels/unroll.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // no vector leaves this file's functions for another's

namespace heddle::cpu {
namespace {

// The bytes of vectors whose lanes one instruction moves anywhere.
#if defined(__AVX512F__)
constexpr int kMoveBytes = 64;
#else
constexpr int kMoveBytes = 16;
#endif

// A square is kSide rows of kSide numbers. The lanes of a point are those of several squares.
template <class T>
struct Moves {
  static constexpr int kLanes = kFftVectorBytes / static_cast<int>(sizeof(T));
  static constexpr int kSide = kMoveBytes / static_cast<int>(sizeof(T));
  static constexpr int kHalf = kSide / 2;
  typedef T V __attribute__((vector_size(kMoveBytes), may_alias));
  typedef T Anywhere __attribute__((vector_size(kMoveBytes), aligned(sizeof(T)), may_alias));

  [[gnu::always_inline]] static V at(const T* from) {
    return *reinterpret_cast<const Anywhere*>(from);
  }
  [[gnu::always_inline]] static void put(T* to, const V& x) {
    *reinterpret_cast<Anywhere*>(to) = x;
  }

  // Lane l is pick(l): of x where that is below the number of lanes, else of y.
  template <class Pick>
  [[gnu::always_inline]] static V shuffled(const V& x, const V& y, Pick pick) {
#if defined(__clang__)
    V out;
    for (int l = 0; l < kSide; ++l) out[l] = pick(l) < kSide ? x[pick(l)] : y[pick(l) - kSide];
    return out;
#else
    using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
    typedef Index Lanes __attribute__((vector_size(kMoveBytes)));
    Lanes from = {};
    HEDDLE_UNROLL
    for (int l = 0; l < kSide; ++l) from[l] = pick(l);
    return __builtin_shuffle(x, y, from);
#endif
  }

  [[gnu::always_inline]] static V low_lanes(const V& x, const V& y) {
    return shuffled(x, y, [](int l) { return l / 2 + l % 2 * kSide; });
  }
  [[gnu::always_inline]] static V high_lanes(const V& x, const V& y) {
    return shuffled(x, y, [](int l) { return kHalf + l / 2 + l % 2 * kSide; });
  }

  // Each step interleaves the first half of the vectors with the second one.
  [[gnu::always_inline]] static void transpose(V (&x)[kSide]) {
    V y[kSide];
    HEDDLE_UNROLL
    for (int step = 1; step < kSide; step *= 2) {
      HEDDLE_UNROLL
      for (int i = 0; i < kHalf; ++i) {
        y[2 * i] = low_lanes(x[i], x[i + kHalf]);
        y[2 * i + 1] = high_lanes(x[i], x[i + kHalf]);
      }
      HEDDLE_UNROLL
      for (int i = 0; i < kSide; ++i) x[i] = y[i];
    }
  }

  // Lanes of point k, from `lane` on.
  static V& re(T* data, int64_t k, int lane) {
    return *reinterpret_cast<V*>(data + 2 * k * kLanes + lane);
  }
  static V& im(T* data, int64_t k, int lane) { return re(data + kLanes, k, lane); }
  static T& re_of(T* data, int64_t k, int lane) { return data[2 * k * kLanes + lane]; }
  static T& im_of(T* data, int64_t k, int lane) { return data[(2 * k + 1) * kLanes + lane]; }

  // Calls move(k, lane) for each `step` of the n points, or less at the end: a cache line of some
  // rows before the next rows, since rows a power of two apart share a set of a cache.
  template <class Move>
  [[gnu::always_inline]] static void each_square(int64_t n, int64_t step, int64_t point_bytes,
                                                 const Move& move) {
    const int64_t tile = std::max(step, 64 / point_bytes);
    for (int64_t first = 0; first < n; first += tile)
      for (int lane = 0; lane < kLanes; lane += kSide)
        for (int64_t k = first; k < std::min(n, first + tile); k += step) move(k, lane);
  }

  static void load_complex(const T* const* rows, int64_t n, bool swapped, T* data) {
    const int64_t whole = n / kHalf * kHalf;
    each_square(whole, kHalf, 2 * sizeof(T), [=](int64_t k, int lane) {
      V x[kSide];
      HEDDLE_UNROLL
      for (int l = 0; l < kSide; ++l) x[l] = at(rows[lane + l] + 2 * k);
      transpose(x);
      for (int j = 0; j < kHalf; ++j) {
        re(data, k + j, lane) = x[2 * j + (swapped ? 1 : 0)];
        im(data, k + j, lane) = x[2 * j + (swapped ? 0 : 1)];
      }
    });
    for (int64_t k = whole; k < n; ++k) {
      for (int l = 0; l < kLanes; ++l) {
        re_of(data, k, l) = rows[l][2 * k + (swapped ? 1 : 0)];
        im_of(data, k, l) = rows[l][2 * k + (swapped ? 0 : 1)];
      }
    }
  }

  static void store_complex(T* data, int64_t n, bool swapped, T factor, T* const* rows) {
    const int64_t whole = n / kHalf * kHalf;
    each_square(whole, kHalf, 2 * sizeof(T), [=](int64_t k, int lane) {
      V x[kSide];
      for (int j = 0; j < kHalf; ++j) {
        x[2 * j + (swapped ? 1 : 0)] = re(data, k + j, lane) * factor;
        x[2 * j + (swapped ? 0 : 1)] = im(data, k + j, lane) * factor;
      }
      transpose(x);
      HEDDLE_UNROLL
      for (int l = 0; l < kSide; ++l) put(rows[lane + l] + 2 * k, x[l]);
    });
    for (int64_t k = whole; k < n; ++k) {
      for (int l = 0; l < kLanes; ++l) {
        rows[l][2 * k + (swapped ? 1 : 0)] = re_of(data, k, l) * factor;
        rows[l][2 * k + (swapped ? 0 : 1)] = im_of(data, k, l) * factor;
      }
    }
  }

  // The real and the imaginary parts of kSide numbers.
  [[gnu::always_inline]] static void load_pairs(const T* from, V& real, V& imaginary) {
    const V x = at(from), y = at(from + kSide);
    real = shuffled(x, y, [](int l) { return 2 * l; });
    imaginary = shuffled(x, y, [](int l) { return 2 * l + 1; });
  }

  // Of rows that lie side by side: point k of all of them at from + k * step.
  static void load_columns(const T* from, int64_t step, int64_t count, int64_t n, bool swapped,
                           T* data) {
    T some[2 * kLanes] = {};  // a point of all lanes, where fewer have a row
    for (int64_t k = 0; k < n; ++k, from += step) {
      const T* const all = whole_point(from, count, some);
      for (int lane = 0; lane < kLanes; lane += kSide) {
        V a, b;
        load_pairs(all + 2 * lane, a, b);
        re(data, k, lane) = swapped ? b : a;
        im(data, k, lane) = swapped ? a : b;
      }
    }
  }

  [[gnu::always_inline]] static const T* whole_point(const T* from, int64_t count, T* some) {
    if (count == kLanes) return from;
    std::copy_n(from, 2 * count, some);
    return some;
  }

  static void store_columns(T* data, int64_t n, bool swapped, T factor, T* to, int64_t step,
                            int64_t count, const T* turns) {
    T some[2 * kLanes], some_turns[2 * kLanes] = {};
    for (int64_t k = 0; k < n; ++k, to += step) {
      T* const all = count == kLanes ? to : some;
      const T* const turn =
          turns == nullptr ? nullptr : whole_point(turns + k * step, count, some_turns);
      for (int lane = 0; lane < kLanes; lane += kSide) {
        const V x = re(data, k, lane) * factor, y = im(data, k, lane) * factor;
        V a = swapped ? y : x, b = swapped ? x : y;
        if (turns != nullptr) {
          V c, s;
          load_pairs(turn + 2 * lane, c, s);
          const V re = a * c - b * s;
          b = a * s + b * c;
          a = re;
        }
        put(all + 2 * lane, low_lanes(a, b));
        put(all + 2 * lane + kSide, high_lanes(a, b));
      }
      if (all == some) std::copy_n(some, 2 * count, to);
    }
  }

  // Rows of real numbers go in pairs: twice as many rows as lanes.
  static void load_real(const T* const* rows, int64_t n, T* data) {
    for (int part = 0; part < 2; ++part) {
      T* const to = data + part * kLanes;  // the real numbers of points, or the imaginary ones
      const int64_t whole = n / kSide * kSide;
      each_square(whole, kSide, sizeof(T), [=](int64_t k, int lane) {
        V x[kSide];
        HEDDLE_UNROLL
        for (int l = 0; l < kSide; ++l) x[l] = at(rows[2 * (lane + l) + part] + k);
        transpose(x);
        for (int j = 0; j < kSide; ++j) re(to, k + j, lane) = x[j];
      });
      for (int64_t k = whole; k < n; ++k)
        for (int l = 0; l < kLanes; ++l) re_of(to, k, l) = rows[2 * l + part][k];
    }
  }

  static void store_real(T* data, int64_t n, bool swapped, T factor, T* const* rows) {
    for (int part = 0; part < 2; ++part) {
      T* const from = (part == 0) != swapped ? data : data + kLanes;
      const int64_t whole = n / kSide * kSide;
      each_square(whole, kSide, sizeof(T), [=](int64_t k, int lane) {
        V x[kSide];
        for (int j = 0; j < kSide; ++j) x[j] = re(from, k + j, lane) * factor;
        transpose(x);
        HEDDLE_UNROLL
        for (int l = 0; l < kSide; ++l) put(rows[2 * (lane + l) + part] + k, x[l]);
      });
      for (int64_t k = whole; k < n; ++k)
        for (int l = 0; l < kLanes; ++l) rows[2 * l + part][k] = re_of(from, k, l) * factor;
    }
  }

  // The first n / 2 + 1 points of both rows of a pair, from those of their sum.
  static void store_halves(T* data, int64_t n, T* const* rows) {
    each_square(n / 2 + 1, kHalf, 2 * sizeof(T),
                [=](int64_t k, int lane) { store_halves_of(data, n, k, lane, rows); });
  }
  static void store_halves_of(T* data, int64_t n, int64_t k, int lane, T* const* rows) {
    const T half = T{1} / 2;
    const int64_t count = std::min<int64_t>(kHalf, n / 2 + 1 - k);
    V first[kSide] = {}, second[kSide] = {};
    for (int64_t j = 0; j < count; ++j) {
      const int64_t other = k + j == 0 ? 0 : n - k - j;
      const V a = re(data, k + j, lane), b = im(data, k + j, lane);
      const V c = re(data, other, lane), d = im(data, other, lane);
      first[2 * j] = (a + c) * half;
      first[2 * j + 1] = (b - d) * half;
      second[2 * j] = (b + d) * half;
      second[2 * j + 1] = (c - a) * half;
    }
    transpose(first);
    transpose(second);
    for (int l = 0; l < kSide; ++l) {
      T* const to[] = {rows[2 * (lane + l)] + 2 * k, rows[2 * (lane + l) + 1] + 2 * k};
      if (count == kHalf) {
        put(to[0], first[l]);
        put(to[1], second[l]);
        continue;
      }
      for (int64_t i = 0; i < 2 * count; ++i) {
        to[0][i] = first[l][i];
        to[1][i] = second[l][i];
      }
    }
  }

  // The sum of both rows of a pair, all n points of it.
  static void load_halves(const T* const* rows, int64_t n, bool swapped, T* data) {
    each_square(n / 2 + 1, kHalf, 2 * sizeof(T),
                [=](int64_t k, int lane) { load_halves_of(rows, n, swapped, k, lane, data); });
  }
  static void load_halves_of(const T* const* rows, int64_t n, bool swapped, int64_t k, int lane,
                             T* data) {
    const int64_t count = std::min<int64_t>(kHalf, n / 2 + 1 - k);
    V first[kSide] = {}, second[kSide] = {};
    for (int l = 0; l < kSide; ++l) {
      const T* const from[] = {rows[2 * (lane + l)] + 2 * k, rows[2 * (lane + l) + 1] + 2 * k};
      if (count == kHalf) {
        first[l] = at(from[0]);
        second[l] = at(from[1]);
        continue;
      }
      for (int64_t i = 0; i < 2 * count; ++i) {
        first[l][i] = from[0][i];
        second[l][i] = from[1][i];
      }
    }
    transpose(first);
    transpose(second);
    T* const real = swapped ? data + kLanes : data;
    T* const imaginary = swapped ? data : data + kLanes;
    for (int64_t j = 0; j < count; ++j) {
      const bool is_real = k + j == 0 || 2 * (k + j) == n;
      const V none = {};
      const V a = first[2 * j], b = is_real ? none : first[2 * j + 1];
      const V c = second[2 * j], d = is_real ? none : second[2 * j + 1];
      re(real, k + j, lane) = a - d;
      re(imaginary, k + j, lane) = b + c;
      if (is_real) continue;
      re(real, n - k - j, lane) = a + d;
      re(imaginary, n - k - j, lane) = c - b;
    }
  }

  // Where e and o are the halves of x + conj(y) and of x - conj(y), p is o times a turn.
  struct Halves {
    V e_re, e_im, p_re, p_im;
  };
  [[gnu::always_inline]] static Halves halves_of(T* data, int64_t k, int64_t other, int lane, T c,
                                                 T s) {
    const T half = T{1} / 2;
    const V a = re(data, k, lane), b = im(data, k, lane);
    const V x = re(data, other, lane), y = im(data, other, lane);
    const V o_re = (a - x) * half, o_im = (b + y) * half;
    return {(a + x) * half, (b - y) * half, o_re * c - o_im * s, o_re * s + o_im * c};
  }

  static void split_halves(T* data, int64_t h, const T* turns) {
    for (int lane = 0; lane < kLanes; lane += kSide) {
      const V a = re(data, 0, lane), b = im(data, 0, lane), none = {};
      re(data, 0, lane) = a + b;
      re(data, h, lane) = a - b;
      im(data, 0, lane) = im(data, h, lane) = none;
      for (int64_t k = 1; 2 * k <= h; ++k) {  // e - i p, and conj(e + i p)
        const Halves x = halves_of(data, k, h - k, lane, turns[2 * k], turns[2 * k + 1]);
        re(data, h - k, lane) = x.e_re - x.p_im;
        im(data, h - k, lane) = -x.e_im - x.p_re;
        re(data, k, lane) = x.e_re + x.p_im;
        im(data, k, lane) = x.e_im - x.p_re;
      }
    }
  }

  static void join_halves(T* data, int64_t h, const T* turns) {
    const T half = T{1} / 2;
    for (int lane = 0; lane < kLanes; lane += kSide) {
      const V a = re(data, 0, lane), b = re(data, h, lane);
      im(data, 0, lane) = (a + b) * half;
      re(data, 0, lane) = (a - b) * half;
      for (int64_t k = 1; 2 * k <= h; ++k) {  // e + i p, and conj(e - i p)
        const Halves x = halves_of(data, k, h - k, lane, turns[2 * k], -turns[2 * k + 1]);
        im(data, h - k, lane) = x.e_re + x.p_im;
        re(data, h - k, lane) = x.p_re - x.e_im;
        im(data, k, lane) = x.e_re - x.p_im;
        re(data, k, lane) = x.e_im + x.p_re;
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
    .split_halves = Moves<T>::split_halves,
    .join_halves = Moves<T>::join_halves,
};

}  // namespace
}  // namespace heddle::cpu
