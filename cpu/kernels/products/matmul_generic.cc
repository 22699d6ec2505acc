// Any machine: vectors of 16 bytes in the vector language of GCC and clang, no flags.
#include "heddle/cpu/kernels/products/matmul_blocks.h"
#include "heddle/cpu/kernels/products/matmul_table.h"

namespace heddle::cpu {
namespace {

template <class Element, int kCount>
struct Vec16 {
  using T = Element;
  typedef T Reg __attribute__((vector_size(16), aligned(16)));
  typedef T Unaligned __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
  using Mask = int64_t;  // how many lanes
  static constexpr int kLanes = kCount;
  static constexpr int kRows = 4;
  static constexpr int kInPlaceRows = 4;
  static constexpr int kDotRows = 2;
  static constexpr int kQuad = kCount;

  static constexpr int wide(int64_t rows) { return rows == 1 ? 8 : rows == 2 ? 4 : 2; }
  static Mask mask(int64_t lanes) { return lanes; }
  static Reg zero() { return Reg{}; }
  static Reg load(const T* p) { return *reinterpret_cast<const Unaligned*>(p); }
  static Reg load(const T* p, Mask mask) {
    Reg x = {};
    for (int64_t i = 0; i < mask; ++i) x[i] = p[i];
    return x;
  }
  static void store(T* p, Reg x) { *reinterpret_cast<Unaligned*>(p) = x; }
  static void store(T* p, Reg x, Mask mask) {
    for (int64_t i = 0; i < mask; ++i) p[i] = x[i];
  }
  static Reg broadcast(const T* p) { return *p - Reg{}; }  // keeps the sign of -0
  static Reg add(Reg x, Reg y) { return x + y; }
  static Reg fma(Reg x, Reg y, Reg z) { return x * y + z; }
  static T sum(Reg x) {
    if constexpr (kLanes == 4) return (x[0] + x[2]) + (x[1] + x[3]);
    return x[0] + x[1];
  }
  static void sums(const Reg* x, T* to) {
    for (int i = 0; i < 4; ++i) to[i] = sum(x[i]);
  }
  static void transpose(const T* from, int64_t stride, T* to, int64_t to_row) {
    for (int i = 0; i < kLanes; ++i) {
      for (int j = 0; j < kQuad; ++j) to[j * to_row + i] = from[i * stride + j];
    }
  }
};

}  // namespace

constinit const MatmulTables kMatmulGeneric = {Isa::kGeneric, make_table<Vec16<float, 4>>(),
                                               make_table<Vec16<double, 2>>()};

}  // namespace heddle::cpu
