// The innermost kernels of the matrix products, written once over a vector type V.
//
// Each matmul_<isa>.cc includes this file under its own compiler flags. All of it is in an
// anonymous namespace and it includes no header with inline functions of external linkage.
// Otherwise the linker could merge AVX-512 code into the program's common code.
//
// V has: T, Reg, Mask; kLanes; kRows, the tallest tile; wide(rows), the vectors a row of a lone
// tile may have; kInPlaceRows, up to which tiles read B in place; kDotRows, the tallest tile of the
// dot form; kQuad and transpose; sum, and sums, which adds the lanes of four registers in the same
// order as sum.
#pragma once

#include <cstdint>

#include "heddle/cpu/kernels/unroll.h"

namespace heddle::cpu {
namespace {

// Strides are in bytes, so that a row of A costs no index register of its own.
struct Tile {
  const char* a;
  int64_t a_row, a_col;
  const char* b;
  int64_t b_row;
  int64_t b_panel;     // between groups of two vectors
  int64_t b_prefetch;  // how far ahead to fetch
  char* c;
  int64_t c_row;
  int64_t k;
  int64_t last;  // columns in the last vector, read only by the kernels with kTail
  char* keep;    // where the kernels with kKeep leave the rows of B as a packed panel
  bool load_c;
};

using TileFunction = void (*)(const Tile&);

template <class T>
const T* at(const char* p) {
  return reinterpret_cast<const T*>(p);
}

// Keeps the compiler from splitting `p` into one pointer for each use.
template <class P>
void opaque(P& p) {
  __asm__("" : "+r"(p));
}

// C[kHeight, kWidth vectors] (+)= A B. Each element is one chain of fma in order of k, which begins
// with C's own value or with 0. So cutting m, n or k elsewhere gives the same bits.
// With kKeep it also packs B: the next tiles of these columns then read the panel, which is close
// and contiguous.
template <class V, int kHeight, int kWidth, bool kTail, bool kKeep>
void tile(const Tile& t) {
  using T = typename V::T;
  using Reg = typename V::Reg;
  constexpr int kBytes = V::kLanes * sizeof(T);
  constexpr int kBases = (kHeight + 2) / 3;  // one pointer serves three rows: p, p + s, p + 2s
  const auto mask = V::mask(kTail ? t.last : V::kLanes);
  auto load = [&](const char* p, int v) {
    return kTail && v == kWidth - 1 ? V::load(at<T>(p), mask) : V::load(at<T>(p));
  };

  Reg acc[kHeight][kWidth];
  HEDDLE_UNROLL for (int i = 0; i < kHeight; ++i) {
    HEDDLE_UNROLL for (int v = 0; v < kWidth; ++v) {
      acc[i][v] = t.load_c ? load(t.c + i * t.c_row + v * kBytes, v) : V::zero();
    }
  }

  const char* a[kBases];
  HEDDLE_UNROLL for (int g = 0; g < kBases; ++g) a[g] = t.a + 3 * g * t.a_row;
  const int64_t a_row = t.a_row, a_col = t.a_col, b_row = t.b_row, b_panel = t.b_panel;
  const int64_t b_prefetch = t.b_prefetch;
  const char* b = t.b;
  char* keep = t.keep;
  for (int64_t p = t.k; p > 0; --p) {
    Reg x[kHeight], y[kWidth];
    HEDDLE_UNROLL for (int v = 0; v < kWidth; ++v) {
      const char* from = b + (v / 2) * b_panel + (v % 2) * kBytes;
      y[v] = load(from, v);
      __builtin_prefetch(from + b_prefetch);
      if constexpr (kKeep) V::store(reinterpret_cast<T*>(keep + v * kBytes), y[v]);
    }
    HEDDLE_UNROLL for (int i = 0; i < kHeight; ++i) {
      x[i] = V::broadcast(at<T>(a[i / 3] + (i % 3) * a_row));
      HEDDLE_UNROLL for (int v = 0; v < kWidth; ++v) acc[i][v] = V::fma(x[i], y[v], acc[i][v]);
    }
    HEDDLE_UNROLL for (int g = 0; g < kBases; ++g) {
      a[g] += a_col;
      opaque(a[g]);
    }
    b += b_row;
    opaque(b);
    if constexpr (kKeep) keep += 2 * kBytes;
  }

  HEDDLE_UNROLL for (int i = 0; i < kHeight; ++i) {
    HEDDLE_UNROLL for (int v = 0; v < kWidth; ++v) {
      T* to = reinterpret_cast<T*>(t.c + i * t.c_row + v * kBytes);
      if (kTail && v == kWidth - 1) {
        V::store(to, acc[i][v], mask);
      } else {
        V::store(to, acc[i][v]);
      }
    }
  }
}

// The kernels of one width by rows; row 0 is unused. Only the first of several tiles keeps B, and
// that one has more than half of the greatest height.
template <int kRows>
struct Heights {
  TileFunction plain[kRows + 1] = {};
  TileFunction keep[kRows + 1] = {};
};

template <class V>
struct Tiles {
  Heights<V::kRows> wide;   // V::wide(rows) vectors; never keeps
  Heights<V::kRows> pair;   // 2 vectors
  Heights<V::kRows> tail2;  // 2 vectors, the last one masked
  Heights<V::kRows> tail1;  // 1 vector, masked

  constexpr Tiles() { fill<1>(); }

 private:
  template <int kHeight>
  constexpr void fill() {
    wide.plain[kHeight] = tile<V, kHeight, V::wide(kHeight), false, false>;
    pair.plain[kHeight] = tile<V, kHeight, 2, false, false>;
    tail2.plain[kHeight] = tile<V, kHeight, 2, true, false>;
    tail1.plain[kHeight] = tile<V, kHeight, 1, true, false>;
    if constexpr (2 * kHeight > V::kRows) {
      pair.keep[kHeight] = tile<V, kHeight, 2, false, true>;
      tail2.keep[kHeight] = tile<V, kHeight, 2, true, true>;
      tail1.keep[kHeight] = tile<V, kHeight, 1, true, true>;
    }
    if constexpr (kHeight < V::kRows) fill<kHeight + 1>();
  }
};

template <class V>
constexpr Tiles<V> kTiles{};

// C[1, n] (+)= A[1, kDepth] B, for a B in place: kDepth whole rows of B stream by. The sums are
// those of tile.
template <class V, int kDepth>
void stream_rows(const typename V::T* a, int64_t a_col, const typename V::T* b, int64_t b_row,
                 typename V::T* c, int64_t n, bool load_c) {
  using Reg = typename V::Reg;
  Reg x[kDepth];
  HEDDLE_UNROLL for (int p = 0; p < kDepth; ++p) x[p] = V::broadcast(a + p * a_col);
  auto step = [&](int64_t j, auto... mask) __attribute__((always_inline)) {
    Reg sum = load_c ? V::load(c + j, mask...) : V::zero();
    HEDDLE_UNROLL for (int p = 0; p < kDepth; ++p) {
      sum = V::fma(x[p], V::load(b + p * b_row + j, mask...), sum);
    }
    V::store(c + j, sum, mask...);
  };
  int64_t j = 0;
  for (; j + V::kLanes <= n; j += V::kLanes) step(j);
  if (j < n) step(j, V::mask(n - j));
}

// Rows of A against columns of B, both contiguous along k. Strides are in elements.
template <class T>
struct Dot {
  const T* a;
  int64_t a_row;
  const T* b;
  int64_t b_col;
  T* c;
  int64_t c_row, c_col;
  int64_t k;
  bool load_c;
};

template <class T>
using DotFunction = void (*)(const Dot<T>&);

// C[kHeight, kWidth] (+)= A B, with kChains vectors of partial sums an element. The order of the
// sum depends on k and kChains alone.
template <class V, int kHeight, int kWidth, int kChains>
void dot(const Dot<typename V::T>& d) {
  using T = typename V::T;
  using Reg = typename V::Reg;
  constexpr int kLanes = V::kLanes;
  Reg acc[kChains][kHeight][kWidth];
  HEDDLE_UNROLL for (int u = 0; u < kChains; ++u) {
    HEDDLE_UNROLL for (int i = 0; i < kHeight; ++i) {
      HEDDLE_UNROLL for (int j = 0; j < kWidth; ++j) acc[u][i][j] = V::zero();
    }
  }
  auto step = [&](int u, int64_t p, auto... mask) __attribute__((always_inline)) {
    Reg x[kHeight];
    HEDDLE_UNROLL for (int i = 0; i < kHeight; ++i) x[i] = V::load(d.a + i * d.a_row + p, mask...);
    HEDDLE_UNROLL for (int j = 0; j < kWidth; ++j) {
      const Reg y = V::load(d.b + j * d.b_col + p, mask...);
      HEDDLE_UNROLL for (int i = 0; i < kHeight; ++i) acc[u][i][j] = V::fma(x[i], y, acc[u][i][j]);
    }
  };

  int64_t p = 0;
  for (; p + kChains * kLanes <= d.k; p += kChains * kLanes) {
    HEDDLE_UNROLL for (int u = 0; u < kChains; ++u) step(u, p + u * kLanes);
  }
  for (; p + kLanes <= d.k; p += kLanes) step(0, p);
  if (p < d.k) step(0, p, V::mask(d.k - p));

  HEDDLE_UNROLL for (int i = 0; i < kHeight; ++i) {
    T sum[kWidth];
    HEDDLE_UNROLL for (int j = 0; j < kWidth; ++j) {
      HEDDLE_UNROLL for (int u = 1; u < kChains; ++u) {
        acc[0][i][j] = V::add(acc[0][i][j], acc[u][i][j]);
      }
      if (kWidth % 4 != 0) sum[j] = V::sum(acc[0][i][j]);
    }
    if constexpr (kWidth % 4 == 0) {
      HEDDLE_UNROLL for (int j = 0; j < kWidth; j += 4) V::sums(&acc[0][i][j], sum + j);
    }
    HEDDLE_UNROLL for (int j = 0; j < kWidth; ++j) {
      T& c = d.c[i * d.c_row + j * d.c_col];
      c = d.load_c ? c + sum[j] : sum[j];
    }
  }
}

// The kernels by rows and columns; index 0 is unused. Tiles of one row may have 8 columns, others
// 4.
template <class V>
struct Dots {
  using T = typename V::T;
  DotFunction<T> block[V::kDotRows + 1][9] = {};

  constexpr Dots() { fill<1, 1>(); }

 private:
  template <int kHeight, int kWidth>
  constexpr void fill() {
    constexpr int kWidest = kHeight == 1 ? 8 : 4;
    block[kHeight][kWidth] = dot<V, kHeight, kWidth, 1>;
    if constexpr (kWidth < kWidest) fill<kHeight, kWidth + 1>();
    if constexpr (kWidth == kWidest && kHeight < V::kDotRows) fill<kHeight + 1, 1>();
  }
};

template <class V>
constexpr Dots<V> kDots{};

}  // namespace
}  // namespace heddle::cpu
