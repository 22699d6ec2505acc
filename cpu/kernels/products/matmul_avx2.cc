// Compiled with -mavx2 -mfma.
#include <immintrin.h>

#include "heddle/cpu/kernels/products/internal/matmul_x86.h"
#include "heddle/cpu/kernels/products/matmul_blocks.h"
#include "heddle/cpu/kernels/products/matmul_table.h"

namespace heddle::cpu {
namespace {

struct Avx2Tiles {
  static constexpr int kRows = 6;
  static constexpr int kInPlaceRows = 6;
  static constexpr int kDotRows = 3;

  static constexpr int wide(int64_t rows) {
    if (rows == 1) return 8;
    return rows <= 3 ? 4 : 2;
  }
};

struct LaneMask {
  __m256i lanes;
  int64_t count;
};

struct F32x8 : Avx2Tiles {
  using T = float;
  using Reg = __m256;
  using Mask = LaneMask;
  static constexpr int kLanes = 8;

  static Mask mask(int64_t lanes) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes)), index), lanes};
  }
  static Reg load(const T* p, Mask mask) { return _mm256_maskload_ps(p, mask.lanes); }
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
  HEDDLE_REGISTER(256, ps)
  static __m128 fold(Reg x) { return cpu::fold(x); }

  static Reg columns(const T* from, int64_t stride) {
    const Reg x = _mm256_castps128_ps256(_mm_loadu_ps(from));
    return _mm256_insertf128_ps(x, _mm_loadu_ps(from + 4 * stride), 1);
  }
  template <int kPicks>
  static Reg shuffle(Reg x, Reg y) {
    return _mm256_shuffle_ps(x, y, kPicks);
  }
};

struct F64x4 : Avx2Tiles {
  using T = double;
  using Reg = __m256d;
  using Mask = LaneMask;
  static constexpr int kLanes = 4;

  static Mask mask(int64_t lanes) {
    return {_mm256_cmpgt_epi64(_mm256_set1_epi64x(lanes), _mm256_setr_epi64x(0, 1, 2, 3)), lanes};
  }
  static Reg load(const T* p, Mask mask) { return _mm256_maskload_pd(p, mask.lanes); }
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
  HEDDLE_REGISTER(256, pd)
  static __m128d fold(Reg x) { return cpu::fold(x); }

  static Reg columns(const T* from, int64_t stride) {
    const Reg x = _mm256_castpd128_pd256(_mm_loadu_pd(from));
    return _mm256_insertf128_pd(x, _mm_loadu_pd(from + 2 * stride), 1);
  }
};

}  // namespace

constinit const MatmulTables kMatmulAvx2 = {Isa::kAvx2, make_table<Floats<F32x8>>(),
                                            make_table<Doubles<F64x4>>()};

}  // namespace heddle::cpu

#undef HEDDLE_REGISTER
