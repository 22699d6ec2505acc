// Choice of a form, and the loops around the kernels of matmul_tile.h. See there for V and for the
// anonymous namespace.
//
// Two forms. The outer form multiplies a column of A by a row of B into a tile of C; it reads B in
// place or packed. The dot form multiplies rows of A by columns of B along k. The form is chosen
// from the whole product, never from a part of it, because the two forms round differently. All
// else here (in place or packed, block sizes, tile heights) changes no bits.
#pragma once

#include "heddle/cpu/kernels/products/matmul_pack.h"
#include "heddle/cpu/kernels/products/matmul_table.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kDotFormRows = 16;
constexpr int64_t kDotDepth = 2048;
constexpr int64_t kThinDotDepth = 16384;
constexpr int64_t kDepth = 256;  // rows of B in a block
constexpr int64_t kBlockColumns = 1024;
constexpr int64_t kBlockTiles = 16;  // tiles of A in a block

constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// `n` cut in equal blocks of at most `limit`.
constexpr int64_t block_size(int64_t n, int64_t limit) {
  return n <= limit ? n : ceil_div(n, ceil_div(n, limit));
}

template <class T>
struct Product {
  Matrix<const T> a, b;
  Matrix<T> c;
  int64_t m, n, k;
  bool accumulate;
};

template <class T>
Product<T> product_of(const MatmulArgs& args) {
  // Without depth, A and B have no elements and may have no address: their strides are 0.
  const int64_t moves = args.k == 0 ? 0 : 1;
  return {{static_cast<const T*>(args.a), moves * args.a_row, moves * args.a_col},
          {static_cast<const T*>(args.b), moves * args.b_row, moves * args.b_col},
          {static_cast<T*>(args.c), args.c_row, args.c_col},
          args.m,
          args.n,
          args.k,
          args.accumulate};
}

template <class T>
void narrow(Product<T>& x, const MatmulPart& part) {
  x.m = part.row_end - part.row_begin;
  x.n = part.col_end - part.col_begin;
  x.a.data = x.a.at(part.row_begin, 0);
  x.b.data = x.b.at(0, part.col_begin);
  x.c.data = x.c.at(part.row_begin, part.col_begin);
}

// From one slab of k to the next: C holds the sum so far.
template <class T>
void advance(Product<T>& x, int64_t depth) {
  x.a.data = x.a.at(0, depth);
  x.b.data = x.b.at(depth, 0);
  x.accumulate = true;
}

// C^T = B^T A^T.
template <class T>
Product<T> transposed(const Product<T>& x) {
  return {{x.b.data, x.b.col, x.b.row},
          {x.a.data, x.a.col, x.a.row},
          {x.c.data, x.c.col, x.c.row},
          x.n,
          x.m,
          x.k,
          x.accumulate};
}

// The kernels want few rows rather than few columns, and a C with contiguous rows.
template <class V>
bool wants_transpose(const Product<typename V::T>& x) {
  constexpr int64_t kFew = V::kLanes / 2;
  if (x.n < x.m && x.n <= kFew) return true;
  if (x.m < x.n && x.m <= kFew) return false;
  return x.c.col != 1 && x.c.row == 1;
}

// Each row of A by a column of B costs a sum of lanes; to pack the column costs a few of them.
template <class V>
bool wants_dots(const Product<typename V::T>& x) {
  if (x.b.row != 1 || x.m > kDotFormRows) return false;
  if (x.n == 1) return true;
  const int64_t least = x.n >= V::kLanes ? x.m + 1 : 1;
  return x.b.col != 1 && 2 * x.k >= least * V::kLanes;
}

// Runs one tile on a C whose rows are not contiguous.
template <class V>
__attribute__((noinline)) void tile_into(const Matrix<typename V::T>& c, TileFunction f, Tile& t,
                                         int64_t rows, int64_t columns) {
  using T = typename V::T;
  alignas(64) T
      buffer[V::kRows * 2 * V::kLanes > 24 * V::kLanes ? V::kRows * 2 * V::kLanes : 24 * V::kLanes];
  if (t.load_c) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) buffer[i * columns + j] = *c.at(i, j);
    }
  }
  t.c = reinterpret_cast<char*>(buffer);
  t.c_row = columns * static_cast<int64_t>(sizeof(T));
  f(t);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) *c.at(i, j) = buffer[i * columns + j];
  }
}

// All tiles of one block. `t` has the strides of B and k. Tiles of A are `a_tile` elements apart;
// 0: its rows are as they are. A lone tile of few rows is made wider. With `keep` the tiles leave B
// there as panels `keep_panel` elements apart; 0 serves where nobody reads them later.
template <class V>
void run_tiles(const Product<typename V::T>& x, int64_t a_tile, Tile t, typename V::T* keep,
               int64_t keep_panel) {
  using T = typename V::T;
  constexpr int64_t kLanes = V::kLanes, kBytes = sizeof(T), kPanel = 2 * kLanes;
  const TileRows heights(x.m, V::kRows);
  const int64_t wide = heights.count == 1 && keep == nullptr ? V::wide(x.m) * kLanes : kPanel;
  t.a_row = x.a.row * kBytes;
  t.a_col = x.a.col * kBytes;
  t.k = x.k;
  t.load_c = x.accumulate;

  const char* b = t.b;
  const int64_t b_row = t.b_row, b_prefetch = t.b_prefetch;
  for (int64_t j = 0; j < x.n;) {
    const int64_t left = x.n - j;
    const int64_t columns = left >= wide ? wide : min(left, kPanel);
    const Heights<V::kRows>& kernels = columns > kPanel    ? kTiles<V>.wide
                                       : columns == kPanel ? kTiles<V>.pair
                                       : columns > kLanes  ? kTiles<V>.tail2
                                                           : kTiles<V>.tail1;
    t.last = columns > kLanes ? columns - kLanes : columns;
    t.b = b;
    t.b_row = b_row;
    t.b_prefetch = b_prefetch;
    t.keep = reinterpret_cast<char*>(keep);
    int64_t row = 0;
    for (int64_t i = 0; i < heights.count; ++i) {
      const int64_t rows = heights[i];
      const TileFunction f = i == 0 && keep != nullptr ? kernels.keep[rows] : kernels.plain[rows];
      t.a = reinterpret_cast<const char*>(a_tile > 0 ? x.a.data + i * a_tile : x.a.at(row, 0));
      if (x.c.col == 1) {
        t.c = reinterpret_cast<char*>(x.c.at(row, j));
        t.c_row = x.c.row * kBytes;
        f(t);
      } else {
        tile_into<V>({x.c.at(row, j), x.c.row, x.c.col}, f, t, rows, columns);
      }
      row += rows;
      if (i == 0 && keep != nullptr) {
        t.b = t.keep;
        t.b_row = kPanel * kBytes;
        t.b_prefetch = 0;
      }
    }
    j += columns;
    b += columns / kPanel * t.b_panel;
    if (keep != nullptr) keep += keep_panel;
  }
}

// The strides of B for its tiles: in place, or as panels `panel` elements apart.
template <class V>
Tile tile_in_place(const Matrix<const typename V::T>& b) {
  constexpr int64_t kBytes = sizeof(typename V::T);
  Tile t;
  t.b = reinterpret_cast<const char*>(b.data);
  t.b_row = b.row * kBytes;
  t.b_panel = 2 * V::kLanes * kBytes;
  t.b_prefetch = 4 * t.b_row;
  return t;
}
template <class V>
Tile tile_packed(const typename V::T* b, int64_t panel) {
  constexpr int64_t kBytes = sizeof(typename V::T);
  Tile t;
  t.b = reinterpret_cast<const char*>(b);
  t.b_row = 2 * V::kLanes * kBytes;
  t.b_panel = panel * kBytes;
  t.b_prefetch = 8 * t.b_row;
  return t;
}

template <class V>
constexpr int64_t scratch_a() {
  return kBlockTiles * V::kRows * (kDepth + 64 / sizeof(typename V::T));
}

// The blocks of A against one block of B, which `t` describes. `scratch` is room for a packed A, or
// null where matmul_scratch() is free for it. For `keep` see run_tiles.
template <class V>
void run_rows(const Product<typename V::T>& x, Tile t, typename V::T* scratch,
              typename V::T* keep = nullptr, int64_t keep_panel = 0) {
  using T = typename V::T;
  const int64_t block = block_size(x.m, kBlockTiles * V::kRows);
  const int64_t packed_row = x.k + 64 / sizeof(T);
  const bool far = x.a.row * sizeof(T) >= 1024 || x.a.col != 1;
  const bool pack = far && x.n >= 16 * V::kLanes && x.a.row != 1;
  // Each step of k is on a page of its own.
  const bool by_tiles = x.a.row == 1 && x.a.col * sizeof(T) >= 2048 && x.n >= 8 * V::kLanes;
  if ((pack || by_tiles) && scratch == nullptr) {
    scratch = static_cast<T*>(matmul_scratch(scratch_a<V>() * sizeof(T)));
  }
  for (int64_t i = 0; i < x.m; i += block) {
    Product<T> y = x;
    narrow(y, {i, min(i + block, x.m), 0, x.n});
    if (pack) {
      pack_rows<V>(y.a, y.m, y.k, scratch, packed_row);
      y.a = {scratch, packed_row, 1};
    } else if (by_tiles) {
      pack_tiles<V>(y.a, y.m, y.k, scratch);
      y.a = {scratch, 1, V::kRows};
    }
    run_tiles<V>(y, by_tiles ? V::kRows * y.k : 0, t, keep, keep_panel);
    if (keep != nullptr) t = tile_packed<V>(keep, keep_panel);
    keep = nullptr;
  }
}

template <class V>
void outer_in_place(Product<typename V::T>& x) {
  const int64_t depth = block_size(x.k, kDepth);
  int64_t left = x.k;
  do {
    x.k = min(depth, left);
    run_rows<V>(x, tile_in_place<V>(x.b), nullptr);
    advance(x, depth);
    left -= depth;
  } while (left > 0);
}

// One row of A and C.
template <class V>
void stream(const Product<typename V::T>& x) {
  constexpr int64_t kStep = 8;
  bool load_c = x.accumulate;
  int64_t p = 0;
  for (; p + kStep <= x.k; p += kStep, load_c = true) {
    stream_rows<V, kStep>(x.a.at(0, p), x.a.col, x.b.at(p, 0), x.b.row, x.c.data, x.n, load_c);
  }
  for (; p < x.k; ++p, load_c = true) {
    stream_rows<V, 1>(x.a.at(0, p), x.a.col, x.b.at(p, 0), x.b.row, x.c.data, x.n, load_c);
  }
}

// With a B that the caller packed. `first` is the part's first column.
template <class V>
void outer_prepacked(Product<typename V::T>& x, const typename V::T* packed, int64_t first) {
  constexpr int64_t kPanel = 2 * V::kLanes;
  const int64_t depth = block_size(x.k, kDepth), panel = kPanel * x.k;
  const typename V::T* b = packed + first / kPanel * panel + first % kPanel;
  int64_t left = x.k;
  do {
    x.k = min(depth, left);
    run_rows<V>(x, tile_packed<V>(b, panel), nullptr);
    advance(x, depth);
    b += depth * kPanel;
    left -= depth;
  } while (left > 0);
}

// Packs B in blocks that fit the second or third cache. Where the rows of B are contiguous, the
// first tiles pack it as they go, and one panel is enough if no second block of A follows.
template <class V>
void outer_packing(const Product<typename V::T>& x) {
  using T = typename V::T;
  constexpr int64_t kPanel = 2 * V::kLanes;
  const bool keeps = x.b.col == 1, one_panel = keeps && x.m <= kBlockTiles * V::kRows;
  const int64_t depth = block_size(x.k, kDepth), all = ceil_div(x.n, kPanel) * kPanel;
  const int64_t columns = one_panel ? all : min(all, kBlockColumns);
  const int64_t room = scratch_a<V>() + (one_panel ? kPanel : columns) * depth;
  T* scratch = static_cast<T*>(matmul_scratch(room * sizeof(T)));
  T* panels = scratch + scratch_a<V>();
  for (int64_t j = 0; j < x.n; j += columns) {
    Product<T> strip = x;
    narrow(strip, {0, x.m, j, min(j + columns, x.n)});
    int64_t left = x.k;
    do {
      strip.k = min(depth, left);
      const int64_t panel = one_panel ? 0 : kPanel * strip.k;
      if (keeps) {
        run_rows<V>(strip, tile_in_place<V>(strip.b), scratch, panels, panel);
      } else {
        pack_b<V>(strip.b, strip.k, strip.n, panels, panel);
        run_rows<V>(strip, tile_packed<V>(panels, panel), scratch);
      }
      advance(strip, depth);
      left -= depth;
    } while (left > 0);
  }
}

// The dot form on one slab of k. A lone element gets several chains, to hide the latency of fma.
template <class V>
void run_dots(const Product<typename V::T>& x, bool one_row, bool lone) {
  using T = typename V::T;
  const int64_t width = one_row ? 8 : 4;
  for (int64_t j = 0; j < x.n; j += width) {
    const int64_t columns = min(width, x.n - j);
    for (int64_t i = 0; i < x.m; i += V::kDotRows) {
      const int64_t rows = min(V::kDotRows, x.m - i);
      const DotFunction<T> f = lone ? dot<V, 1, 1, 4> : kDots<V>.block[rows][columns];
      f({x.a.at(i, 0), x.a.row, x.b.at(0, j), x.b.col, x.c.at(i, j), x.c.row, x.c.col, x.k,
         x.accumulate});
    }
  }
}

template <class V>
void dots(Product<typename V::T>& x, const MatmulPart& part) {
  using T = typename V::T;
  const bool lone = x.m == 1 && x.n == 1, pack = x.a.col != 1;
  const int64_t depth = block_size(x.k, x.m == 1 ? kThinDotDepth : kDotDepth);
  const int64_t packed_row = depth + 64 / sizeof(T);
  narrow(x, part);
  Matrix<const T> a = x.a;
  T* scratch = nullptr;
  if (pack) {
    scratch = static_cast<T*>(matmul_scratch(x.m * packed_row * sizeof(T)));
  }
  int64_t left = x.k;
  do {
    x.k = min(depth, left);
    if (pack) {
      pack_rows<V>(a, x.m, x.k, scratch, packed_row);
      x.a = {scratch, packed_row, 1};
      a.data = a.at(0, depth);
    }
    run_dots<V>(x, x.m == 1, lone);
    advance(x, depth);
    left -= depth;
  } while (left > 0);
}

// Whether one tile does the part. These conditions exclude wants_transpose and wants_dots, if B is
// packed or has contiguous rows.
template <class V>
bool fits_tile(const MatmulArgs& args, const MatmulPart& p) {
  return p.row_end - p.row_begin <= V::kRows && p.col_end - p.col_begin <= 2 * V::kLanes &&
         args.n >= args.m && args.n != 1 && args.c_col == 1;
}

// A part that fits one tile, without the costs of the general way. B has contiguous rows, and `b`
// is at the part's first column.
template <class V>
void run_tile(const MatmulArgs& args, const MatmulPart& p, const void* b, int64_t b_row) {
  constexpr int64_t kLanes = V::kLanes, kBytes = sizeof(typename V::T);
  const int64_t columns = p.col_end - p.col_begin;
  Tile t;
  t.a_row = args.a_row * kBytes;
  t.a_col = args.a_col * kBytes;
  t.a = static_cast<const char*>(args.a) + p.row_begin * t.a_row;
  t.b = static_cast<const char*>(b);
  t.b_row = b_row * kBytes;
  t.b_panel = 0;
  t.b_prefetch = 0;
  t.c_row = args.c_row * kBytes;
  t.c = static_cast<char*>(args.c) + p.row_begin * t.c_row + p.col_begin * kBytes;
  t.k = args.k;
  t.last = columns > kLanes ? columns - kLanes : columns;
  t.load_c = args.accumulate;
  (columns > kLanes ? kTiles<V>.tail2 : kTiles<V>.tail1).plain[p.row_end - p.row_begin](t);
}

template <class V>
void part(const MatmulArgs& args, const MatmulPart& wanted) {
  using T = typename V::T;
  MatmulPart p = wanted;
  if (p.row_begin >= p.row_end || p.col_begin >= p.col_end) return;
  if (args.b_col == 1 && fits_tile<V>(args, p)) {
    return run_tile<V>(args, p, static_cast<const T*>(args.b) + p.col_begin, args.b_row);
  }
  Product<T> x = product_of<T>(args);
  if (wants_transpose<V>(x)) {
    x = transposed(x);
    p = {p.col_begin, p.col_end, p.row_begin, p.row_end};
  }
  if (wants_dots<V>(x)) return dots<V>(x, p);
  narrow(x, p);
  if (x.b.col == 1 && x.c.col == 1 && x.m == 1 && x.k > 0) return stream<V>(x);
  if (x.b.col == 1 && x.m <= V::kInPlaceRows) return outer_in_place<V>(x);
  outer_packing<V>(x);
}

template <class V>
void pack_all(const MatmulArgs& args, void* packed) {
  using T = typename V::T;
  pack_b<V>(product_of<T>(args).b, args.k, args.n, static_cast<T*>(packed), 2 * V::kLanes * args.k);
}

template <class V>
void packed_part(const MatmulArgs& args, const void* packed, const MatmulPart& p) {
  using T = typename V::T;
  constexpr int64_t kPanel = 2 * V::kLanes;
  if (p.row_begin >= p.row_end || p.col_begin >= p.col_end) return;
  const T* b = static_cast<const T*>(packed);
  if (p.col_begin % kPanel == 0 && fits_tile<V>(args, p)) {
    return run_tile<V>(args, p, b + p.col_begin * args.k, kPanel);
  }
  // A part that begins inside a panel first does the rest of that panel.
  for (int64_t j = p.col_begin; j < p.col_end;) {
    const int64_t next = j % kPanel == 0 ? p.col_end : min((j / kPanel + 1) * kPanel, p.col_end);
    Product<T> x = product_of<T>(args);
    narrow(x, {p.row_begin, p.row_end, j, next});
    outer_prepacked<V>(x, b, j);
    j = next;
  }
}

template <class V>
constexpr MatmulTable make_table() {
  return {2 * V::kLanes, part<V>, pack_all<V>, packed_part<V>};
}

}  // namespace
}  // namespace heddle::cpu
