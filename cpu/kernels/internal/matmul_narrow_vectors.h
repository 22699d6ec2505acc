// Blocks of narrow elements by vectors of AVX-512. See matmul_narrow_blocks.h.
#pragma once

#include "heddle/cpu/kernels/internal/matmul_narrow_blocks.h"
#include "heddle/cpu/kernels/unroll.h"

namespace heddle::cpu {
namespace {

// Add: Sum, the vector of sums; load and store; sum(x, a, b), x plus the products of the groups.
template <class Load, class Add>
struct Vectors : Load {
  static void begin() {}
  static void end() {}

  // Eight rows of C, 32 columns wide. All 16 sums stand in registers only where no loop over them
  // is left.
  static void rows(const char* a, const Strip& strip, const char* b, int64_t steps,
                   typename Load::Sum* c, int64_t c_row, bool adds) {
    constexpr int kRows = 8;
    typename Add::Sums sums[kRows][2];
    HEDDLE_UNROLL
    for (int i = 0; i < kRows; ++i) {
      HEDDLE_UNROLL
      for (int j = 0; j < 2; ++j)
        sums[i][j] = adds ? Add::load(c + i * c_row + 16 * j) : typename Add::Sums{};
    }
    for (int64_t step = 0; step < steps; ++step, b += 2 * kTileBytes) {
      for (int64_t group = 0; group < 16; ++group) {
        const __m512i left = _mm512_load_si512(b + group * 64);
        const __m512i right = _mm512_load_si512(b + kTileBytes + group * 64);
        HEDDLE_UNROLL
        for (int i = 0; i < kRows; ++i) {
          int32_t word;
          std::memcpy(&word, a + i * strip.row + step * strip.step + group * 4, 4);
          const __m512i all = _mm512_set1_epi32(word);
          sums[i][0] = Add::sum(sums[i][0], all, left);
          sums[i][1] = Add::sum(sums[i][1], all, right);
        }
      }
    }
    HEDDLE_UNROLL
    for (int i = 0; i < kRows; ++i) {
      HEDDLE_UNROLL
      for (int j = 0; j < 2; ++j) Add::store(c + i * c_row + 16 * j, sums[i][j]);
    }
  }

  static void block(const Strip& a, const char* b, int64_t steps, typename Load::Sum* c,
                    int64_t c_row, bool has_two, bool adds) {
    for (int64_t i = 0; i < (has_two ? 32 : 16); i += 8) {
      const char* data = a.data + (i < 16 ? i * a.row : a.lower + (i - 16) * a.row);
      rows(data, a, b, steps, c + i * c_row, c_row, adds);
    }
  }
};

}  // namespace
}  // namespace heddle::cpu
