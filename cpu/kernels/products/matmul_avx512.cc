// Compiled with -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512.
#if !defined(__clang__)  // GCC 12 warns of its own _mm512_undefined_ps
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "heddle/cpu/kernels/products/internal/matmul_x86.h"
#include "heddle/cpu/kernels/products/matmul_blocks.h"
#include "heddle/cpu/kernels/products/matmul_table.h"

namespace heddle::cpu {
namespace {

struct Avx512Tiles {
  static constexpr int kRows = 14;
  static constexpr int kInPlaceRows = 48;
  static constexpr int kDotRows = 4;

  static constexpr int wide(int64_t rows) {
    if (rows <= 3) return 8;
    if (rows == 4) return 6;
    return rows <= 6 ? 4 : 2;
  }
};

struct F32x16 : Avx512Tiles {
  using T = float;
  using Reg = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;

  static Mask mask(int64_t lanes) { return static_cast<Mask>((1u << lanes) - 1); }
  static Reg load(const T* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
  static void store(T* p, Reg x, Mask mask) { _mm512_mask_storeu_ps(p, mask, x); }
  static Reg broadcast(const T* p) { return _mm512_set1_ps(*p); }
  HEDDLE_REGISTER(512, ps)
  static __m128 fold(Reg x) {
    return cpu::fold(_mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)));
  }

  static Reg columns(const T* from, int64_t stride) {
    Reg x = _mm512_castps128_ps512(_mm_loadu_ps(from));
    x = _mm512_insertf32x4(x, _mm_loadu_ps(from + 4 * stride), 1);
    x = _mm512_insertf32x4(x, _mm_loadu_ps(from + 8 * stride), 2);
    return _mm512_insertf32x4(x, _mm_loadu_ps(from + 12 * stride), 3);
  }
  template <int kPicks>
  static Reg shuffle(Reg x, Reg y) {
    return _mm512_shuffle_ps(x, y, kPicks);
  }
};

struct F64x8 : Avx512Tiles {
  using T = double;
  using Reg = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;

  static Mask mask(int64_t lanes) { return static_cast<Mask>((1u << lanes) - 1); }
  static Reg load(const T* p, Mask mask) { return _mm512_maskz_loadu_pd(mask, p); }
  static void store(T* p, Reg x, Mask mask) { _mm512_mask_storeu_pd(p, mask, x); }
  static Reg broadcast(const T* p) { return _mm512_set1_pd(*p); }
  HEDDLE_REGISTER(512, pd)
  static __m128d fold(Reg x) {
    return cpu::fold(_mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1)));
  }

  static Reg columns(const T* from, int64_t stride) {
    Reg x = _mm512_castpd128_pd512(_mm_loadu_pd(from));
    x = _mm512_insertf64x2(x, _mm_loadu_pd(from + 2 * stride), 1);
    x = _mm512_insertf64x2(x, _mm_loadu_pd(from + 4 * stride), 2);
    return _mm512_insertf64x2(x, _mm_loadu_pd(from + 6 * stride), 3);
  }
};

}  // namespace

constinit const MatmulTables kMatmulAvx512 = {Isa::kAvx512, make_table<Floats<F32x16>>(),
                                              make_table<Doubles<F64x8>>()};

}  // namespace heddle::cpu

#undef HEDDLE_REGISTER
