// What the vector types of AVX2 and AVX-512 share: sums of lanes and the transposing of squares.
//
// V has what the instruction set names differently: fold(x), x's lanes added until 128 bits are
// left; columns; unpack_low, unpack_high and shuffle.
#pragma once

#include <immintrin.h>

#include <cstdint>

// What differs by the width and the element type in the names of instructions alone.
#define HEDDLE_REGISTER(bits, type)                                                 \
  static Reg zero() { return _mm##bits##_setzero_##type(); }                        \
  static Reg load(const T* p) { return _mm##bits##_loadu_##type(p); }               \
  static void store(T* p, Reg x) { _mm##bits##_storeu_##type(p, x); }               \
  static Reg add(Reg x, Reg y) { return _mm##bits##_add_##type(x, y); }             \
  static Reg fma(Reg x, Reg y, Reg z) { return _mm##bits##_fmadd_##type(x, y, z); } \
  static Reg unpack_low(Reg x, Reg y) { return _mm##bits##_unpacklo_##type(x, y); } \
  static Reg unpack_high(Reg x, Reg y) { return _mm##bits##_unpackhi_##type(x, y); }

namespace heddle::cpu {
namespace {

inline __m128 fold(__m256 x) {
  return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
}
inline __m128d fold(__m256d x) {
  return _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
}

template <class V>
struct Floats : V {
  using Reg = typename V::Reg;
  static constexpr int kQuad = 4;

  static float sum(Reg x) {
    const __m128 four = V::fold(x), two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static void sums(const Reg* x, float* to) {
    const __m128 a = V::fold(x[0]), b = V::fold(x[1]), c = V::fold(x[2]), d = V::fold(x[3]);
    const __m128 ab = _mm_add_ps(_mm_unpacklo_ps(a, b), _mm_unpackhi_ps(a, b));
    const __m128 cd = _mm_add_ps(_mm_unpacklo_ps(c, d), _mm_unpackhi_ps(c, d));
    _mm_storeu_ps(to, _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
  }

  // Column 4 l + q of four rows is lane l of the q-th register.
  static void transpose(const float* from, int64_t stride, float* to, int64_t to_row) {
    const Reg a = V::columns(from, stride), b = V::columns(from + stride, stride);
    const Reg c = V::columns(from + 2 * stride, stride), d = V::columns(from + 3 * stride, stride);
    const Reg ab = V::unpack_low(a, b), cd = V::unpack_low(c, d);
    const Reg ab_high = V::unpack_high(a, b), cd_high = V::unpack_high(c, d);
    V::store(to, V::template shuffle<0x44>(ab, cd));
    V::store(to + to_row, V::template shuffle<0xee>(ab, cd));
    V::store(to + 2 * to_row, V::template shuffle<0x44>(ab_high, cd_high));
    V::store(to + 3 * to_row, V::template shuffle<0xee>(ab_high, cd_high));
  }
};

template <class V>
struct Doubles : V {
  using Reg = typename V::Reg;
  static constexpr int kQuad = 2;

  static double sum(Reg x) {
    const __m128d two = V::fold(x);
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  static void sums(const Reg* x, double* to) {
    for (int i = 0; i < 4; i += 2) {
      const __m128d a = V::fold(x[i]), b = V::fold(x[i + 1]);
      _mm_storeu_pd(to + i, _mm_add_pd(_mm_unpacklo_pd(a, b), _mm_unpackhi_pd(a, b)));
    }
  }

  static void transpose(const double* from, int64_t stride, double* to, int64_t to_row) {
    const Reg a = V::columns(from, stride), b = V::columns(from + stride, stride);
    V::store(to, V::unpack_low(a, b));
    V::store(to + to_row, V::unpack_high(a, b));
  }
};

}  // namespace
}  // namespace heddle::cpu
