// Compiled with AVX-512 (F, DQ, VL, BW).
#include "heddle/cpu/kernels/products/internal/matmul_narrow_vectors.h"

namespace heddle::cpu {
namespace {

struct PairsOfWords {
  using Sums = __m512i;
  static constexpr bool kFlips = false;
  static Sums load(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void store(int32_t* p, Sums x) { _mm512_storeu_si512(p, x); }
  static Sums sum(Sums x, __m512i a, __m512i b) {
    return _mm512_add_epi32(x, _mm512_madd_epi16(a, b));
  }
};

}  // namespace

void narrow_part_avx512(DType element, const MatmulArgs& args, const MatmulPart& part) {
  if (element == s8) return narrow_part_by<Vectors<WidenedBytes<int8_t>, PairsOfWords>>(args, part);
  narrow_part_by<Vectors<WidenedBytes<uint8_t>, PairsOfWords>>(args, part);
}

}  // namespace heddle::cpu
