// Two kinds of numbers for formulas.h, for tests and timing: one scalar, and a GCC vector.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#endif

#include "heddle/codegen/math/formulas.h"

#pragma GCC diagnostic ignored "-Wpsabi"  // no vector leaves this file's functions for another's

namespace heddle::cpu::lanes {

template <class T>
using BitsOf = typename Format<T>::Bits;
template <class T>
using UnsignedOf = std::make_unsigned_t<BitsOf<T>>;

// ---- One scalar --------------------------------------------------------------------------------

// A class of its own: clang warns of & between bools.
struct OneMask {
  bool v;
  friend OneMask operator&(OneMask a, OneMask b) { return {a.v && b.v}; }
  friend OneMask operator|(OneMask a, OneMask b) { return {a.v || b.v}; }
  friend OneMask operator!(OneMask a) { return {!a.v}; }
};

// Operators of a number N on its `v`. Macros, since they are friends of it.
#define HEDDLE_ARITHMETIC(N)                                \
  friend N operator+(N a, N b) { return {a.v + b.v}; }      \
  friend N operator-(N a, N b) { return {a.v - b.v}; }      \
  friend N operator*(N a, N b) { return {a.v * b.v}; }      \
  friend N operator/(N a, N b) { return {a.v / b.v}; }      \
  friend N operator-(N a) { return {-a.v}; }                \
  friend Mask operator<(N a, N b) { return {a.v < b.v}; }   \
  friend Mask operator>(N a, N b) { return {a.v > b.v}; }   \
  friend Mask operator>=(N a, N b) { return {a.v >= b.v}; } \
  friend Mask operator==(N a, N b) { return {a.v == b.v}; } \
  friend Mask operator!=(N a, N b) { return {a.v != b.v}; }
#define HEDDLE_BITS(N, Mask)                                      \
  friend N operator+(N a, N b) { return {a.v + b.v}; }            \
  friend N operator-(N a, N b) { return {a.v - b.v}; }            \
  friend N operator&(N a, N b) { return {a.v & b.v}; }            \
  friend N operator|(N a, N b) { return {a.v | b.v}; }            \
  friend N operator^(N a, N b) { return {a.v ^ b.v}; }            \
  friend N operator<<(N a, int n) { return {a.v << n}; }          \
  friend N shift_right_logical(N a, int n) { return {a.v >> n}; } \
  friend Mask operator==(N a, N b) { return {a.v == b.v}; }

template <class T, bool fused>
struct One;

// A wrapping integer as wide as T. It knows `fused` so that float_from_bits finds the way back.
template <class T, bool fused>
struct OneInt {
  UnsignedOf<T> v;

  HEDDLE_BITS(OneInt, OneMask)
};

// One float or double. With fused = false, fma rounds twice.
template <class T, bool fused>
struct One {
  using Scalar = T;
  using Int = OneInt<T, fused>;
  using Mask = OneMask;
  T v;

  One constant(T value) const { return {value}; }
  Int int_constant(std::int64_t n) const { return {static_cast<UnsignedOf<T>>(n)}; }

  HEDDLE_ARITHMETIC(One)
  friend One fma(One a, One b, One c) {
    return {fused ? std::fma(a.v, b.v, c.v) : static_cast<T>(a.v * b.v) + c.v};
  }
  friend One sqrt(One a) { return {std::sqrt(a.v)}; }
  friend One abs(One a) { return {std::abs(a.v)}; }
  friend One floor(One a) { return {std::floor(a.v)}; }
  friend One copysign(One a, One s) { return {std::copysign(a.v, s.v)}; }
  friend Int bits(One a) { return {std::bit_cast<UnsignedOf<T>>(a.v)}; }
  friend One select(Mask m, One a, One b) { return m.v ? a : b; }
  friend bool is_one_number(One) { return true; }
  template <class Fn>
  friend One in_double(One a, One b, const Fn& fn) {
    return {static_cast<T>(fn(One<double, fused>{a.v}, One<double, fused>{b.v}).v)};
  }
};

template <class T, bool fused>
One<T, fused> float_from_bits(OneInt<T, fused> i) {
  return {std::bit_cast<T>(i.v)};
}

// ---- A vector of 64 bytes ----------------------------------------------------------------------

template <class T>
struct Vector;
template <>
struct Vector<float> {
  typedef float Values __attribute__((vector_size(64)));
  typedef std::int32_t Ints __attribute__((vector_size(64)));
  typedef std::uint32_t Unsigned __attribute__((vector_size(64)));
};
template <>
struct Vector<double> {
  typedef double Values __attribute__((vector_size(64)));
  typedef std::int64_t Ints __attribute__((vector_size(64)));
  typedef std::uint64_t Unsigned __attribute__((vector_size(64)));
};

template <class T>
struct ManyMask {
  typename Vector<T>::Ints v;
  friend ManyMask operator&(ManyMask a, ManyMask b) { return {a.v & b.v}; }
  friend ManyMask operator|(ManyMask a, ManyMask b) { return {a.v | b.v}; }
  friend ManyMask operator!(ManyMask a) { return {~a.v}; }
};

template <class T>
struct ManyInt {
  typename Vector<T>::Unsigned v;
  HEDDLE_BITS(ManyInt, ManyMask<T>)
};

// 64 bytes of float or double.
template <class T>
struct Many {
  using Scalar = T;
  using Int = ManyInt<T>;
  using Mask = ManyMask<T>;
  using Values = typename Vector<T>::Values;
  using Unsigned = typename Vector<T>::Unsigned;
  static constexpr int count = 64 / sizeof(T);
  static constexpr UnsignedOf<T> sign = UnsignedOf<T>{1} << (8 * sizeof(T) - 1);
  Values v;

  static Many load(const T* from) {
    Many result;
    std::memcpy(&result.v, from, 64);
    return result;
  }
  void store(T* to) const { std::memcpy(to, &v, 64); }

  Many constant(T value) const { return {value - Values{}}; }
  Int int_constant(std::int64_t n) const { return {static_cast<UnsignedOf<T>>(n) + Unsigned{}}; }

  HEDDLE_ARITHMETIC(Many)
  friend Int bits(Many a) { return {std::bit_cast<Unsigned>(a.v)}; }
  friend Many select(Mask m, Many a, Many b) { return {m.v ? a.v : b.v}; }
  template <class Fn>
  friend Many in_double(Many a, Many b, const Fn& fn) {
    constexpr int kWide = Many<double>::count;
    for (int from = 0; from < count; from += kWide) {
      Many<double> wide_a, wide_b;
      for (int i = 0; i < kWide; ++i) {
        wide_a.v[i] = a.v[from + i];
        wide_b.v[i] = b.v[from + i];
      }
      const Many<double> result = fn(wide_a, wide_b);
      for (int i = 0; i < kWide; ++i) a.v[from + i] = static_cast<T>(result.v[i]);
    }
    return a;
  }
  friend Many abs(Many a) {
    return {std::bit_cast<Values>(std::bit_cast<Unsigned>(a.v) & ~(sign + Unsigned{}))};
  }
  friend Many copysign(Many a, Many s) {
    return {std::bit_cast<Values>((std::bit_cast<Unsigned>(a.v) & ~(sign + Unsigned{})) |
                                  (std::bit_cast<Unsigned>(s.v) & (sign + Unsigned{})))};
  }
#if defined(__AVX512F__) && defined(__AVX512DQ__)
  friend Many fma(Many a, Many b, Many c) {
    if constexpr (sizeof(T) == 4) {
      return {(Values)_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v)};
    } else {
      return {(Values)_mm512_fmadd_pd((__m512d)a.v, (__m512d)b.v, (__m512d)c.v)};
    }
  }
#else
  friend Many fma(Many a, Many b, Many c) {
    for (int i = 0; i < count; ++i) a.v[i] = std::fma(a.v[i], b.v[i], c.v[i]);
    return a;
  }
#endif
  friend Many sqrt(Many a) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    if constexpr (sizeof(T) == 4) {
      return {(Values)_mm512_maskz_sqrt_ps(0xffff, (__m512)a.v)};
    } else {
      return {(Values)_mm512_maskz_sqrt_pd(0xff, (__m512d)a.v)};
    }
#else
    for (int i = 0; i < count; ++i) a.v[i] = std::sqrt(a.v[i]);
    return a;
#endif
  }
  friend Many floor(Many a) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    if constexpr (sizeof(T) == 4) {
      return {(Values)_mm512_maskz_roundscale_ps(0xffff, (__m512)a.v, 9)};
    } else {
      return {(Values)_mm512_maskz_roundscale_pd(0xff, (__m512d)a.v, 9)};
    }
#else
    for (int i = 0; i < count; ++i) a.v[i] = std::floor(a.v[i]);
    return a;
#endif
  }
};

template <class T>
Many<T> float_from_bits(ManyInt<T> i) {
  return {std::bit_cast<typename Vector<T>::Values>(i.v)};
}

}  // namespace heddle::cpu::lanes

#undef HEDDLE_ARITHMETIC
#undef HEDDLE_BITS
