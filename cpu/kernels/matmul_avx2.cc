// Compiled with -mavx2 -mfma.
#include <immintrin.h>

#include "heddle/cpu/kernels/matmul_blocks.h"
#include "heddle/cpu/kernels/matmul_table.h"

namespace heddle::cpu {
namespace {

constexpr int wide_vectors(int64_t rows) {
  if (rows == 1) return 8;
  return rows <= 3 ? 4 : 2;
}

struct LaneMask {
  __m256i lanes;
  int64_t count;
};

struct F32x8 {
  using T = float;
  using Reg = __m256;
  using Mask = LaneMask;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 6;
  static constexpr int kInPlaceRows = 6;
  static constexpr int kDotRows = 3;
  static constexpr int kQuad = 4;

  static constexpr int wide(int64_t rows) { return wide_vectors(rows); }
  static Mask mask(int64_t lanes) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes)), index), lanes};
  }
  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg load(const T* p) { return _mm256_loadu_ps(p); }
  static Reg load(const T* p, Mask mask) { return _mm256_maskload_ps(p, mask.lanes); }
  static void store(T* p, Reg x) { _mm256_storeu_ps(p, x); }
  // In pieces, as vmaskmov takes tens of cycles to store on some machines.
  static void store(T* p, Reg x, Mask mask) {
    if (mask.count == kLanes) return _mm256_storeu_ps(p, x);
    __m128 rest = _mm256_castps256_ps128(x);
    if (mask.count & 4) {
      _mm_storeu_ps(p, rest);
      rest = _mm256_extractf128_ps(x, 1);
      p += 4;
    }
    if (mask.count & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
      rest = _mm_movehl_ps(rest, rest);
      p += 2;
    }
    if (mask.count & 1) _mm_store_ss(p, rest);
  }
  static Reg broadcast(const T* p) { return _mm256_broadcast_ss(p); }
  static Reg add(Reg x, Reg y) { return _mm256_add_ps(x, y); }
  static Reg fma(Reg x, Reg y, Reg z) { return _mm256_fmadd_ps(x, y, z); }
  static __m128 fold(Reg x) {
    return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
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
    const Reg x = _mm256_castps128_ps256(_mm_loadu_ps(from));
    return _mm256_insertf128_ps(x, _mm_loadu_ps(from + 4 * stride), 1);
  }
  static void transpose(const T* from, int64_t stride, T* to, int64_t to_row) {
    const Reg a = columns(from, stride), b = columns(from + stride, stride);
    const Reg c = columns(from + 2 * stride, stride), d = columns(from + 3 * stride, stride);
    const Reg ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
    const Reg ab_high = _mm256_unpackhi_ps(a, b), cd_high = _mm256_unpackhi_ps(c, d);
    _mm256_storeu_ps(to, _mm256_shuffle_ps(ab, cd, 0x44));
    _mm256_storeu_ps(to + to_row, _mm256_shuffle_ps(ab, cd, 0xee));
    _mm256_storeu_ps(to + 2 * to_row, _mm256_shuffle_ps(ab_high, cd_high, 0x44));
    _mm256_storeu_ps(to + 3 * to_row, _mm256_shuffle_ps(ab_high, cd_high, 0xee));
  }
};

struct F64x4 {
  using T = double;
  using Reg = __m256d;
  using Mask = LaneMask;
  static constexpr int kLanes = 4;
  static constexpr int kRows = 6;
  static constexpr int kInPlaceRows = 6;
  static constexpr int kDotRows = 3;
  static constexpr int kQuad = 2;

  static constexpr int wide(int64_t rows) { return wide_vectors(rows); }
  static Mask mask(int64_t lanes) {
    return {_mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_setr_epi64x(0, 1, 2, 3)), lanes};
  }
  static Reg zero() { return _mm256_setzero_pd(); }
  static Reg load(const T* p) { return _mm256_loadu_pd(p); }
  static Reg load(const T* p, Mask mask) { return _mm256_maskload_pd(p, mask.lanes); }
  static void store(T* p, Reg x) { _mm256_storeu_pd(p, x); }
  static void store(T* p, Reg x, Mask mask) {
    if (mask.count == kLanes) return _mm256_storeu_pd(p, x);
    __m128d rest = _mm256_castpd256_pd128(x);
    if (mask.count & 2) {
      _mm_storeu_pd(p, rest);
      rest = _mm256_extractf128_pd(x, 1);
      p += 2;
    }
    if (mask.count & 1) _mm_store_sd(p, rest);
  }
  static Reg broadcast(const T* p) { return _mm256_broadcast_sd(p); }
  static Reg add(Reg x, Reg y) { return _mm256_add_pd(x, y); }
  static Reg fma(Reg x, Reg y, Reg z) { return _mm256_fmadd_pd(x, y, z); }
  static __m128d fold(Reg x) {
    return _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
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
    const Reg x = _mm256_castpd128_pd256(_mm_loadu_pd(from));
    return _mm256_insertf128_pd(x, _mm_loadu_pd(from + 2 * stride), 1);
  }
  static void transpose(const T* from, int64_t stride, T* to, int64_t to_row) {
    const Reg a = columns(from, stride), b = columns(from + stride, stride);
    _mm256_storeu_pd(to, _mm256_unpacklo_pd(a, b));
    _mm256_storeu_pd(to + to_row, _mm256_unpackhi_pd(a, b));
  }
};

}  // namespace

constinit const MatmulTables kMatmulAvx2 = {Isa::kAvx2, make_table<F32x8>(), make_table<F64x4>()};

}  // namespace heddle::cpu
