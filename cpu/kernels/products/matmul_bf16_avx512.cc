// Compiled with -mavx512bf16 and the rest of AVX-512.
#include "heddle/cpu/kernels/products/internal/matmul_narrow_vectors.h"

namespace heddle::cpu {
namespace {

struct PairsOfBf16 {
  using Sums = __m512;
  static constexpr bool kFlips = false;
  static Sums load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Sums x) { _mm512_storeu_ps(p, x); }
  static Sums sum(Sums x, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(x, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};

}  // namespace

void bf16_part_avx512(const MatmulArgs& args, const MatmulPart& part) {
  narrow_part_by<Vectors<HalfWords, PairsOfBf16>>(args, part);
}

}  // namespace heddle::cpu
