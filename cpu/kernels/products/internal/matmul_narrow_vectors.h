// Blocks of narrow elements by vectors of AVX-512. See matmul_narrow_blocks.h.
#pragma once

#include "heddle/cpu/kernels/products/internal/matmul_narrow_blocks.h"
#include "heddle/cpu/kernels/unroll.h"

namespace heddle::cpu {
namespace {

// Add: Sums, the vector of sums; load and store; sum(x, a, b), x plus the products of the groups.
// Where kFlips, sum() takes `a` with the sign bits of its elements flipped. A row of zeros would
// then give sums that are not zero. These are subtracted: without(x, flipped).
template <class Load, class Add>
struct Vectors : Load {
  static void begin() {}
  static void end() {}

  // Eight rows of C, 16 columns wide for each of `kVectors`. All sums stand in registers only where
  // no loop over them is left.
  template <int kVectors>
  static void rows(const char* a, const Strip& strip, const char* b, int64_t steps,
                   typename Load::Sum* c, int64_t c_row, bool adds) {
    constexpr int kRows = 8;
    const __m512i flip = _mm512_set1_epi8(-128);
    typename Add::Sums sums[kRows][kVectors];
    [[maybe_unused]] typename Add::Sums flipped[kVectors] = {};
    HEDDLE_UNROLL
    for (int i = 0; i < kRows; ++i) {
      HEDDLE_UNROLL
      for (int j = 0; j < kVectors; ++j)
        sums[i][j] = adds ? Add::load(c + i * c_row + 16 * j) : typename Add::Sums{};
    }
    for (int64_t step = 0; step < steps; ++step, b += 2 * kTileBytes) {
      for (int64_t group = 0; group < 16; ++group) {
        __m512i columns[kVectors];
        HEDDLE_UNROLL
        for (int j = 0; j < kVectors; ++j)
          columns[j] = _mm512_load_si512(b + j * kTileBytes + group * 64);
        if constexpr (Add::kFlips) {
          HEDDLE_UNROLL
          for (int j = 0; j < kVectors; ++j) flipped[j] = Add::sum(flipped[j], flip, columns[j]);
        }
        HEDDLE_UNROLL
        for (int i = 0; i < kRows; ++i) {
          int32_t word;
          std::memcpy(&word, a + i * strip.row + step * strip.step + group * 4, 4);
          __m512i all = _mm512_set1_epi32(word);
          if constexpr (Add::kFlips) all = _mm512_xor_si512(all, flip);
          HEDDLE_UNROLL
          for (int j = 0; j < kVectors; ++j) sums[i][j] = Add::sum(sums[i][j], all, columns[j]);
        }
      }
    }
    HEDDLE_UNROLL
    for (int i = 0; i < kRows; ++i) {
      HEDDLE_UNROLL
      for (int j = 0; j < kVectors; ++j) {
        if constexpr (Add::kFlips) sums[i][j] = Add::without(sums[i][j], flipped[j]);
        Add::store(c + i * c_row + 16 * j, sums[i][j]);
      }
    }
  }

  static void block(const Strip& a, const char* b, int64_t steps, typename Load::Sum* c,
                    int64_t c_row, BlockSize size, bool adds) {
    for (int64_t i = 0; i < size.rows; i += 8) {
      const char* data = a.data + (i < 16 ? i * a.row : a.lower + (i - 16) * a.row);
      if (size.columns > 16) {
        rows<2>(data, a, b, steps, c + i * c_row, c_row, adds);
      } else {
        rows<1>(data, a, b, steps, c + i * c_row, c_row, adds);
      }
    }
  }
};

}  // namespace
}  // namespace heddle::cpu
