// Compiled with -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512.
#if !defined(__clang__)  // GCC 12 warns of its own _mm512_undefined_ps
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "heddle/cpu/kernels/matmul_blocks.h"
#include "heddle/cpu/kernels/matmul_table.h"

namespace heddle::cpu {
namespace {

constexpr int wide_vectors(int64_t rows) {
  if (rows <= 3) return 8;
  if (rows == 4) return 6;
  return rows <= 6 ? 4 : 2;
}

struct F32x16 {
  using T = float;
  using Reg = __m512;
  using Mask = __mmask16;
  static constexpr int kLanes = 16;
  static constexpr int kRows = 14;
  static constexpr int kInPlaceRows = 48;
  static constexpr int kDotRows = 4;
  static constexpr int kQuad = 4;

  static constexpr int wide(int64_t rows) { return wide_vectors(rows); }
  static Mask mask(int64_t lanes) { return static_cast<Mask>((1u << lanes) - 1); }
  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg load(const T* p) { return _mm512_loadu_ps(p); }
  static Reg load(const T* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
  static void store(T* p, Reg x) { _mm512_storeu_ps(p, x); }
  static void store(T* p, Reg x, Mask mask) { _mm512_mask_storeu_ps(p, mask, x); }
  static Reg broadcast(const T* p) { return _mm512_set1_ps(*p); }
  static Reg add(Reg x, Reg y) { return _mm512_add_ps(x, y); }
  static Reg fma(Reg x, Reg y, Reg z) { return _mm512_fmadd_ps(x, y, z); }
  static __m128 fold(Reg x) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  static T sum(Reg x) {
    const __m128 four = fold(x), two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static void sums(const Reg* x, T* to) {
    const __m128 a = fold(x[0]), b = fold(x[1]), c = fold(x[2]), d = fold(x[3]);
    const __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
    const __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
    _mm_storeu_ps(to, _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
  }

  // Column 4 l + q of four rows is lane l of the q-th register.
  static Reg columns(const T* from, int64_t stride) {
    Reg x = _mm512_castps128_ps512(_mm_loadu_ps(from));
    x = _mm512_insertf32x4(x, _mm_loadu_ps(from + 4 * stride), 1);
    x = _mm512_insertf32x4(x, _mm_loadu_ps(from + 8 * stride), 2);
    return _mm512_insertf32x4(x, _mm_loadu_ps(from + 12 * stride), 3);
  }
  static void transpose(const T* from, int64_t stride, T* to, int64_t to_row) {
    const Reg a = columns(from, stride), b = columns(from + stride, stride);
    const Reg c = columns(from + 2 * stride, stride), d = columns(from + 3 * stride, stride);
    const Reg ab = _mm512_unpacklo_ps(a, b), cd = _mm512_unpacklo_ps(c, d);
    const Reg ab_high = _mm512_unpackhi_ps(a, b), cd_high = _mm512_unpackhi_ps(c, d);
    _mm512_storeu_ps(to, _mm512_shuffle_ps(ab, cd, 0x44));
    _mm512_storeu_ps(to + to_row, _mm512_shuffle_ps(ab, cd, 0xee));
    _mm512_storeu_ps(to + 2 * to_row, _mm512_shuffle_ps(ab_high, cd_high, 0x44));
    _mm512_storeu_ps(to + 3 * to_row, _mm512_shuffle_ps(ab_high, cd_high, 0xee));
  }
};

struct F64x8 {
  using T = double;
  using Reg = __m512d;
  using Mask = __mmask8;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 14;
  static constexpr int kInPlaceRows = 48;
  static constexpr int kDotRows = 4;
  static constexpr int kQuad = 2;

  static constexpr int wide(int64_t rows) { return wide_vectors(rows); }
  static Mask mask(int64_t lanes) { return static_cast<Mask>((1u << lanes) - 1); }
  static Reg zero() { return _mm512_setzero_pd(); }
  static Reg load(const T* p) { return _mm512_loadu_pd(p); }
  static Reg load(const T* p, Mask mask) { return _mm512_maskz_loadu_pd(mask, p); }
  static void store(T* p, Reg x) { _mm512_storeu_pd(p, x); }
  static void store(T* p, Reg x, Mask mask) { _mm512_mask_storeu_pd(p, mask, x); }
  static Reg broadcast(const T* p) { return _mm512_set1_pd(*p); }
  static Reg add(Reg x, Reg y) { return _mm512_add_pd(x, y); }
  static Reg fma(Reg x, Reg y, Reg z) { return _mm512_fmadd_pd(x, y, z); }
  static __m128d fold(Reg x) {
    const __m256d half = _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
    return _mm_add_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
  }
  static T sum(Reg x) {
    const __m128d two = fold(x);
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  static void sums(const Reg* x, T* to) {
    for (int i = 0; i < 4; i += 2) {
      const __m128d a = fold(x[i]), b = fold(x[i + 1]);
      _mm_storeu_pd(to + i, _mm_add_pd(_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b)));
    }
  }

  static Reg columns(const T* from, int64_t stride) {
    Reg x = _mm512_castpd128_pd512(_mm_loadu_pd(from));
    x = _mm512_insertf64x2(x, _mm_loadu_pd(from + 2 * stride), 1);
    x = _mm512_insertf64x2(x, _mm_loadu_pd(from + 4 * stride), 2);
    return _mm512_insertf64x2(x, _mm_loadu_pd(from + 6 * stride), 3);
  }
  static void transpose(const T* from, int64_t stride, T* to, int64_t to_row) {
    const Reg a = columns(from, stride), b = columns(from + stride, stride);
    _mm512_storeu_pd(to, _mm512_unpacklo_pd(a, b));
    _mm512_storeu_pd(to + to_row, _mm512_unpackhi_pd(a, b));
  }
};

}  // namespace

constinit const MatmulTables kMatmulAvx512 = {Isa::kAvx512, make_table<F32x16>(),
                                              make_table<F64x8>()};

}  // namespace heddle::cpu
