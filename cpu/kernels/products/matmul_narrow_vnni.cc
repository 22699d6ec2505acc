// Compiled with -mavx512vnni and the rest of AVX-512.
//
// The instruction multiplies unsigned bytes by signed ones, so the sign bits of A are flipped:
// (a + 128) b for s8, and (a - 128) b for u8.
#include "heddle/cpu/kernels/products/internal/matmul_narrow_vectors.h"

namespace heddle::cpu {
namespace {

// Sums of four products in 32 bits.
template <class T>
struct QuadsOfBytes {
  using Sums = __m512i;
  static constexpr bool kFlips = true;
  static Sums load(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void store(int32_t* p, Sums x) { _mm512_storeu_si512(p, x); }
  static Sums sum(Sums x, __m512i flipped, __m512i b) {
    return std::is_signed_v<T> ? _mm512_dpbusd_epi32(x, flipped, b)
                               : _mm512_dpbusd_epi32(x, b, flipped);
  }
  static Sums without(Sums x, Sums flipped) { return _mm512_sub_epi32(x, flipped); }
};

// Few columns, whose sums are lanes along k: A is read as it lies, and no lane is idle.
constexpr int64_t kColumnsAlongK = 8;
constexpr int64_t kDepthAlongK = 4096;  // of a slab, whose columns of B stay in the first cache

// Columns of B, one after the other, with zeros up to whole vectors.
template <class T>
void pack_few_columns(const Lanes<T>& b, int64_t columns, int64_t depth, int64_t to_column, T* to) {
  for (int64_t j = 0; j < columns; ++j, to += to_column) {
    const T* from = b.from(j, 0).data;
    if (b.k == 1) {
      std::memcpy(to, from, static_cast<size_t>(depth));
    } else {
      for (int64_t k = 0; k < depth; ++k) to[k] = from[k * b.k];
    }
    std::memset(to + depth, 0, static_cast<size_t>(to_column - depth));
  }
}

// kRows rows of A by kColumns packed columns, added to or put in C.
template <class T, int kRows, int kColumns>
void few_products(const T* a, int64_t a_row, const T* b, int64_t b_column, int64_t depth,
                  const MatmulArgs& args, int32_t* c, bool adds) {
  using Add = QuadsOfBytes<T>;
  const __m512i flip = _mm512_set1_epi8(-128);
  __m512i sums[kRows][kColumns] = {}, flipped[kColumns] = {};
  for (int64_t k = 0; k < depth; k += 64) {
    __m512i columns[kColumns];
    HEDDLE_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      columns[j] = _mm512_load_si512(b + j * b_column + k);
      flipped[j] = Add::sum(flipped[j], flip, columns[j]);
    }
    HEDDLE_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const __m512i row = _mm512_xor_si512(Bytes<T>::along_k(a + i * a_row + k, depth - k), flip);
      HEDDLE_UNROLL
      for (int j = 0; j < kColumns; ++j) sums[i][j] = Add::sum(sums[i][j], row, columns[j]);
    }
  }
  HEDDLE_UNROLL
  for (int i = 0; i < kRows; ++i) {
    HEDDLE_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      int32_t& to = c[i * args.c_row + j * args.c_col];
      const int32_t sum = _mm512_reduce_add_epi32(Add::without(sums[i][j], flipped[j]));
      to =
          adds ? static_cast<int32_t>(static_cast<uint32_t>(to) + static_cast<uint32_t>(sum)) : sum;
    }
  }
}

// kColumns columns of C.
template <class T, int kColumns>
void few_columns(const T* a, const T* b, int64_t b_column, int64_t depth, const MatmulArgs& args,
                 int64_t rows, int32_t* c, bool adds) {
  constexpr int kRows = 4;
  int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    few_products<T, kRows, kColumns>(a + i * args.a_row, args.a_row, b, b_column, depth, args,
                                     c + i * args.c_row, adds);
  }
  for (; i < rows; ++i) {
    few_products<T, 1, kColumns>(a + i * args.a_row, args.a_row, b, b_column, depth, args,
                                 c + i * args.c_row, adds);
  }
}

template <class T>
void few_columns_part(const MatmulArgs& args, const MatmulPart& part) {
  const int64_t columns = part.col_end - part.col_begin, rows = part.row_end - part.row_begin;
  T* packed = static_cast<T*>(matmul_scratch(kColumnsAlongK * kDepthAlongK));
  const Lanes<T> b = {static_cast<const T*>(args.b), args.b_col, args.b_row};
  for (int64_t k = 0; k < args.k; k += kDepthAlongK) {
    const int64_t depth = least(args.k - k, kDepthAlongK), column = (depth + 63) / 64 * 64;
    pack_few_columns(b.from(part.col_begin, k), columns, depth, column, packed);
    const T* a = static_cast<const T*>(args.a) + part.row_begin * args.a_row + k;
    const bool adds = args.accumulate || k > 0;
    for (int64_t j = 0; j < columns;) {
      int32_t* c = static_cast<int32_t*>(args.c) + part.row_begin * args.c_row +
                   (part.col_begin + j) * args.c_col;
      const auto take = [&](const auto& some, int64_t count) {
        some(a, packed + j * column, column, depth, args, rows, c, adds);
        j += count;
      };
      switch (columns - j) {
        case 1: take(few_columns<T, 1>, 1); break;
        case 2: take(few_columns<T, 2>, 2); break;
        case 3: take(few_columns<T, 3>, 3); break;
        default: take(few_columns<T, 4>, 4); break;
      }
    }
  }
}

template <class T>
void part_by_quads(const MatmulArgs& args, const MatmulPart& part) {
  if (part.col_end - part.col_begin <= kColumnsAlongK && args.a_col == 1 && args.k >= 64)
    return few_columns_part<T>(args, part);
  narrow_part_by<Vectors<Bytes<T>, QuadsOfBytes<T>>>(args, part);
}

}  // namespace

void narrow_part_vnni(DType element, const MatmulArgs& args, const MatmulPart& part) {
  if (element == s8) return part_by_quads<int8_t>(args, part);
  part_by_quads<uint8_t>(args, part);
}

}  // namespace heddle::cpu
