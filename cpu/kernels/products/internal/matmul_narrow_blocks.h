// The loops around a unit that multiplies blocks of narrow elements, and the packing of what it
// reads. For files that are compiled with AVX-512; all is in an unnamed namespace, so that no other
// file gets such code.
//
// A block is 32 x 32 elements of C over a slab of k. A tile is 16 rows of 16 groups: so many
// neighbours in k as 32 bits hold. The rows of a tile of A are rows of A, and its columns groups in
// k; the rows of a tile of B are groups in k, and its columns columns of B.
#pragma once

#if !defined(__clang__)  // GCC 12 warns of its own _mm512_undefined_epi32
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "heddle/cpu/kernels/products/matmul_narrow.h"
#include "heddle/cpu/kernels/products/matmul_table.h"
#include "heddle/cpu/kernels/unroll.h"

namespace heddle::cpu {
namespace {

constexpr int64_t kBlock = kNarrowPanel;
constexpr int64_t kTileBytes = 1024;
constexpr int64_t kSteps = 16;   // tiles in k of a slab: those of A stay in the first cache
constexpr int64_t kPanels = 16;  // of B in the second

constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// How elements are loaded into tiles. `lanes` are rows of A or columns of B.
//   kGroup                elements in 32 bits
//   along_k(p, depth)     16 groups from neighbours in k, zeros beyond `depth`
//   along_lanes(p, mask)  elements of 16 neighbouring lanes, each in the low bits of a group
struct HalfWords {  // bf16
  using Element = uint16_t;
  using Sum = float;
  static constexpr int kGroup = 2;

  static __m512i along_k(const Element* p, int64_t depth) {
    return _mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << depth) - 1), p);
  }
  static __m512i along_lanes(const Element* p, __mmask16 mask) {
    return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, p));
  }
};

template <class T>
struct Bytes {  // s8 and u8
  using Element = T;
  using Sum = int32_t;
  static constexpr int kGroup = 4;

  static __m512i along_k(const Element* p, int64_t depth) {
    return _mm512_maskz_loadu_epi8(depth >= 64 ? ~__mmask64{0} : (__mmask64{1} << depth) - 1, p);
  }
  static __m512i along_lanes(const Element* p, __mmask16 mask) {
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, p));
  }
};

template <class T>
struct WidenedBytes {  // s8 and u8 as 16 bits
  using Element = T;
  using Sum = int32_t;
  static constexpr int kGroup = 2;

  static __m512i along_k(const Element* p, int64_t depth) {
    const __m256i x =
        _mm256_maskz_loadu_epi8(static_cast<__mmask32>((uint64_t{1} << depth) - 1), p);
    return std::is_signed_v<T> ? _mm512_cvtepi8_epi16(x) : _mm512_cvtepu8_epi16(x);
  }
  static __m512i along_lanes(const Element* p, __mmask16 mask) {
    const __m128i x = _mm_maskz_loadu_epi8(mask, p);
    if (!std::is_signed_v<T>) return _mm512_cvtepu8_epi32(x);
    return _mm512_and_si512(_mm512_cvtepi8_epi32(x), _mm512_set1_epi32(0xffff));
  }
};

template <class Load>
constexpr int64_t kDepth = 16 * Load::kGroup;  // of a tile

template <class Load>
constexpr int64_t steps_of(int64_t depth) {
  return (depth + kDepth<Load> - 1) / kDepth<Load>;
}

// Elements of a matrix along lanes and along k.
template <class Element>
struct Lanes {
  const Element* data;
  int64_t lane, k;  // strides

  [[nodiscard]] Lanes from(int64_t lanes, int64_t depth) const {
    return {data + lanes * lane + depth * k, lane, k};
  }
};

// 16 x 16 elements of 32 bits.
void transpose(__m512i (&x)[16]) {
  __m512i y[16];
  HEDDLE_UNROLL
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  HEDDLE_UNROLL
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  HEDDLE_UNROLL
  for (int i = 0; i < 4; ++i) {
    y[i] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0xdd);
    y[i + 8] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0xdd);
  }
  HEDDLE_UNROLL
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0x88);
    x[i + 8] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0xdd);
    x[i + 4] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0x88);
    x[i + 12] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0xdd);
  }
}

// The rows of a tile as lanes.
template <class Load>
void load_along_k(const Lanes<typename Load::Element>& from, int64_t lanes, int64_t depth,
                  __m512i (&x)[16]) {
  HEDDLE_UNROLL
  for (int i = 0; i < 16; ++i) {
    x[i] = i < lanes ? Load::along_k(from.data + i * from.lane, depth) : _mm512_setzero_si512();
  }
}

// The rows of a tile as groups in k.
template <class Load>
void load_along_lanes(const Lanes<typename Load::Element>& from, int64_t lanes, int64_t depth,
                      __m512i (&x)[16]) {
  const auto mask = static_cast<__mmask16>((1u << lanes) - 1);
  HEDDLE_UNROLL
  for (int i = 0; i < 16; ++i) {
    x[i] = _mm512_setzero_si512();
    HEDDLE_UNROLL
    for (int g = 0; g < Load::kGroup; ++g) {
      const int64_t k = i * Load::kGroup + g;
      if (k >= depth) break;
      const __m512i row = Load::along_lanes(from.data + k * from.k, mask);
      x[i] = _mm512_or_si512(x[i], _mm512_slli_epi32(row, 32 / Load::kGroup * g));
    }
  }
}

// A tile of 16 lanes, zeros beyond `lanes` and `depth`. Its rows are the lanes, or groups in k.
template <class Load, bool kGroupsInRows>
void pack_tile(const Lanes<typename Load::Element>& from, int64_t lanes, int64_t depth, char* to) {
  __m512i x[16];
  const bool has_groups_in_rows = from.k != 1 && from.lane == 1;
  if (has_groups_in_rows) {
    load_along_lanes<Load>(from, lanes, depth, x);
  } else if (from.k == 1) {
    load_along_k<Load>(from, lanes, depth, x);
  } else {
    typename Load::Element rows[16][kDepth<Load>] = {};
    for (int64_t i = 0; i < lanes; ++i) {
      for (int64_t k = 0; k < depth; ++k) rows[i][k] = *from.from(i, k).data;
    }
    load_along_k<Load>({rows[0], kDepth<Load>, 1}, 16, kDepth<Load>, x);
  }
  if (has_groups_in_rows != kGroupsInRows) transpose(x);
  HEDDLE_UNROLL
  for (int i = 0; i < 16; ++i) _mm512_store_si512(to + 64 * i, x[i]);
}

// The tiles of a panel of B stand by step in k: those of the 16 columns on the left, then of those
// on the right.
template <class Load>
void pack_panel(const Lanes<typename Load::Element>& b, int64_t columns, int64_t depth, char* to) {
  for (int64_t k = 0; k < depth; k += kDepth<Load>) {
    for (int64_t j = 0; j < kBlock; j += 16, to += kTileBytes) {
      const int64_t lanes = columns < j ? 0 : least(columns - j, 16);
      pack_tile<Load, true>(b.from(lanes > 0 ? j : 0, k), lanes, least(depth - k, kDepth<Load>),
                            to);
    }
  }
}

// A strip of A, 32 rows: bytes from a row to the next, from a step in k to the next, and from the
// first row to the 17th.
struct Strip {
  const char* data;
  int64_t row, step, lower;
};

// Where it lies, if its rows are whole and few panels read them: rows that are far apart share
// sets of the first cache. Else as tiles in `scratch`.
template <class Load>
Strip strip_of(const Lanes<typename Load::Element>& a, int64_t rows, int64_t depth, int64_t panels,
               char* scratch) {
  constexpr int64_t kFewPanels = 4, kWidth = sizeof(typename Load::Element);
  if (kWidth * Load::kGroup == 4 && a.k == 1 && depth % kDepth<Load> == 0 && rows % 16 == 0 &&
      panels <= kFewPanels) {
    return {reinterpret_cast<const char*>(a.data), a.lane * kWidth, 64, 16 * a.lane * kWidth};
  }
  char* to = scratch;
  for (int64_t i = 0; i < rows; i += 16) {
    for (int64_t k = 0; k < depth; k += kDepth<Load>, to += kTileBytes) {
      pack_tile<Load, false>(a.from(i, k), least(rows - i, 16), least(depth - k, kDepth<Load>), to);
    }
  }
  return {scratch, 64, kTileBytes, steps_of<Load>(depth) * kTileBytes};
}

// How much of a block is C; a unit may compute more.
struct BlockSize {
  int64_t rows, columns;
};

// The block of C at `c`, whose rows and columns may be fewer, or apart.
template <class Unit>
void run_block(const Strip& a, const char* b, int64_t steps, const MatmulArgs& args,
               typename Unit::Sum* c, int64_t rows, int64_t columns, bool adds) {
  if (columns == kBlock && rows % 16 == 0 && args.c_col == 1)
    return Unit::block(a, b, steps, c, args.c_row, {rows, columns}, adds);
  alignas(64) typename Unit::Sum whole[kBlock * kBlock];
  const auto for_each_row = [&](const auto& move) {
    for (int64_t i = 0; i < rows; ++i) move(c + i * args.c_row, whole + i * kBlock);
  };
  const size_t row_bytes = static_cast<size_t>(columns) * sizeof(whole[0]);
  if (adds) {
    std::memset(whole, 0, sizeof(whole));
    for_each_row([&](const auto* there, auto* here) {
      if (args.c_col == 1) return static_cast<void>(std::memcpy(here, there, row_bytes));
      for (int64_t j = 0; j < columns; ++j) here[j] = there[j * args.c_col];
    });
  }
  Unit::block(a, b, steps, whole, kBlock, {rows, columns}, adds);
  for_each_row([&](auto* there, const auto* here) {
    if (args.c_col == 1) return static_cast<void>(std::memcpy(there, here, row_bytes));
    for (int64_t j = 0; j < columns; ++j) there[j * args.c_col] = here[j];
  });
}

// One slab of k: columns in groups that the second cache holds, rows in strips that the first does.
template <class Unit>
void run_slab(const MatmulArgs& args, const MatmulPart& part, int64_t k, int64_t depth, bool adds,
              char* scratch) {
  using Element = typename Unit::Element;
  const Lanes<Element> a = {static_cast<const Element*>(args.a), args.a_row, args.a_col};
  const Lanes<Element> b = {static_cast<const Element*>(args.b), args.b_col, args.b_row};
  auto* c = static_cast<typename Unit::Sum*>(args.c);
  const int64_t steps = steps_of<Unit>(depth), panel = steps * 2 * kTileBytes;
  char* panels = scratch + 2 * kSteps * kTileBytes;
  for (int64_t group = part.col_begin; group < part.col_end; group += kPanels * kBlock) {
    const int64_t end = least(group + kPanels * kBlock, part.col_end);
    for (int64_t j = group; j < end; j += kBlock) {
      pack_panel<Unit>(b.from(j, k), least(end - j, kBlock), depth,
                       panels + (j - group) / kBlock * panel);
    }
    for (int64_t i = part.row_begin; i < part.row_end; i += kBlock) {
      const int64_t rows = least(part.row_end - i, kBlock);
      const Strip strip =
          strip_of<Unit>(a.from(i, k), rows, depth, (end - group + kBlock - 1) / kBlock, scratch);
      for (int64_t j = group; j < end; j += kBlock) {
        run_block<Unit>(strip, panels + (j - group) / kBlock * panel, steps, args,
                        c + i * args.c_row + j * args.c_col, rows, least(end - j, kBlock), adds);
      }
    }
  }
}

template <class Unit>
void narrow_part_by(const MatmulArgs& args, const MatmulPart& part) {
  constexpr int64_t kSlab = kSteps * kDepth<Unit>;
  char* scratch = static_cast<char*>(matmul_scratch(2 * kSteps * kTileBytes * (1 + kPanels)));
  Unit::begin();
  int64_t k = 0;
  do {  // once for k = 0 too: C is zeros, or stays
    run_slab<Unit>(args, part, k, least(args.k - k, kSlab), args.accumulate || k > 0, scratch);
    k += kSlab;
  } while (k < args.k);
  Unit::end();
}

}  // namespace
}  // namespace heddle::cpu
