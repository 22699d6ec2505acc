// Copies of A and B in the order in which the tiles of matmul_tile.h read them. See there for V and
// for the anonymous namespace.
#pragma once

#include "heddle/cpu/kernels/products/matmul_tile.h"

namespace heddle::cpu {
namespace {

// A matrix in memory. Strides are in elements.
template <class T>
struct Matrix {
  T* data;
  int64_t row, col;

  T* at(int64_t i, int64_t j) const { return data + i * row + j * col; }
};

// One row of a panel: `n` elements and then zeros, up to two vectors.
template <class V>
void pack_panel_row(const typename V::T* from, int64_t n, typename V::T* to) {
  constexpr int kLanes = V::kLanes;
  if (n >= 2 * kLanes) {
    V::store(to, V::load(from));
    V::store(to + kLanes, V::load(from + kLanes));
  } else if (n > kLanes) {
    V::store(to, V::load(from));
    V::store(to + kLanes, V::load(from + kLanes, V::mask(n - kLanes)));
  } else {
    V::store(to, V::load(from, V::mask(n)));
    V::store(to + kLanes, V::zero());
  }
}

// A vector of columns of a panel: `n` of B[k, n], and then zeros. Any strides; some rows at a time,
// so that what is written stays in the first cache.
template <class V>
void pack_columns_any(const Matrix<const typename V::T>& b, int64_t k, int64_t n,
                      typename V::T* to) {
  constexpr int64_t kPanel = 2 * V::kLanes, kRows = 64;
  for (int64_t first = 0; first < k; first += kRows) {
    const int64_t last = first + kRows < k ? first + kRows : k;
    for (int64_t j = 0; j < V::kLanes; ++j) {
      for (int64_t p = first; p < last; ++p) to[p * kPanel + j] = j < n ? *b.at(p, j) : 0;
    }
  }
}

// The same of a full vector, whose columns are contiguous. More of them, a power of 2 apart, do not
// fit the ways of the first cache.
template <class V>
void pack_columns_transposed(const Matrix<const typename V::T>& b, int64_t k, typename V::T* to) {
  constexpr int kPanel = 2 * V::kLanes;
  const int64_t quads = k / V::kQuad * V::kQuad;
  for (int64_t p = 0; p < quads; p += V::kQuad)
    V::transpose(b.at(p, 0), b.col, to + p * kPanel, kPanel);
  pack_columns_any<V>({b.at(quads, 0), b.row, b.col}, k - quads, V::kLanes, to + quads * kPanel);
}

// B[k, n] as panels of two vectors a row, each panel k rows long, `to_panel` elements apart.
template <class V>
void pack_b(const Matrix<const typename V::T>& b, int64_t k, int64_t n, typename V::T* to,
            int64_t to_panel) {
  constexpr int kPanel = 2 * V::kLanes;
  for (int64_t j = 0; j < n; j += kPanel, to += to_panel) {
    const Matrix<const typename V::T> panel = {b.at(0, j), b.row, b.col};
    if (b.col == 1) {
      for (int64_t p = 0; p < k; ++p) pack_panel_row<V>(panel.at(p, 0), n - j, to + p * kPanel);
      continue;
    }
    for (int half = 0; half < kPanel; half += V::kLanes) {
      const int64_t columns = n - j - half;
      const Matrix<const typename V::T> part = {panel.at(0, columns > 0 ? half : 0), b.row, b.col};
      if (b.row == 1 && columns >= V::kLanes) {
        pack_columns_transposed<V>(part, k, to + half);
      } else {
        pack_columns_any<V>(part, k, columns, to + half);
      }
    }
  }
}

template <class V>
void copy_run(const typename V::T* from, int64_t n, typename V::T* to) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(to + i, V::load(from + i));
  if (i < n) V::store(to + i, V::load(from + i, V::mask(n - i)), V::mask(n - i));
}

// A[m, k] with rows `to_row` elements apart, each contiguous.
template <class V>
void pack_rows(const Matrix<const typename V::T>& a, int64_t m, int64_t k, typename V::T* to,
               int64_t to_row) {
  for (int64_t i = 0; i < m; ++i, to += to_row) {
    if (a.col == 1) {
      copy_run<V>(a.at(i, 0), k, to);
    } else {
      for (int64_t p = 0; p < k; ++p) to[p] = *a.at(i, p);
    }
  }
}

// A block's rows in tiles, whose heights differ by one at most.
struct TileRows {
  int64_t count, height, taller;

  TileRows(int64_t m, int64_t most)
      : count((m + most - 1) / most), height(m / count), taller(m % count) {}
  int64_t operator[](int64_t i) const { return height + (i < taller ? 1 : 0); }
};

// A[m, k] whose columns are contiguous, by tiles: each of them k columns of its rows, V::kRows
// elements apart.
template <class V>
void pack_tiles(const Matrix<const typename V::T>& a, int64_t m, int64_t k, typename V::T* to) {
  const TileRows rows(m, V::kRows);
  for (int64_t p = 0; p < k; ++p) {
    const typename V::T* from = a.at(0, p);
    for (int64_t i = 0; i < rows.count; from += rows[i++])
      copy_run<V>(from, rows[i], to + (i * k + p) * V::kRows);
  }
}

}  // namespace
}  // namespace heddle::cpu
