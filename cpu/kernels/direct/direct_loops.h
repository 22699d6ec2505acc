// The loops of direct kernels (runtime/host/direct.h), for one instruction set: each file that
// includes this is compiled for another one, so that all of it is of that file alone. Results are
// those of cpu/lower/elements/scalar_ops.cc.
#pragma once

#include <type_traits>

#include "heddle/runtime/host/direct.h"

namespace heddle::cpu {
namespace {

using runtime::DirectKernels;
using runtime::DirectOp;

template <class T>
constexpr bool kIsFloat = static_cast<T>(0.5) != T{0};

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
// What elements are added and multiplied as: integers wrap, as unsigned ones do.
template <class T>
using Wrapping = std::conditional_t<kIsFloat<T>, T, Bits<T>>;

template <class T>
inline Bits<T> bits(T x) {
  return __builtin_bit_cast(Bits<T>, x);
}
template <class T>
inline T from_bits(Bits<T> x) {
  return __builtin_bit_cast(T, x);
}

// The greater; NaN where either is, and +0 above -0.
template <class T>
inline T greater_of(T x, T y) {
  if constexpr (!kIsFloat<T>) return x > y ? x : y;
  const T equal = from_bits<T>(bits(x) & bits(y));  // of -0 and +0: +0; of the same: that
  const T ordered = x > y ? x : y > x ? y : equal;
  return x != x || y != y ? x + y : ordered;
}
template <class T>
inline T lesser_of(T x, T y) {
  if constexpr (!kIsFloat<T>) return x < y ? x : y;
  const T equal = from_bits<T>(bits(x) | bits(y));
  const T ordered = x < y ? x : y < x ? y : equal;
  return x != x || y != y ? x + y : ordered;
}

template <DirectOp op, class T>
inline auto apply(T x, T y) {
  using W = Wrapping<T>;
  if constexpr (op == DirectOp::kAdd) {
    return static_cast<T>(static_cast<W>(x) + static_cast<W>(y));
  } else if constexpr (op == DirectOp::kSubtract) {
    return static_cast<T>(static_cast<W>(x) - static_cast<W>(y));
  } else if constexpr (op == DirectOp::kMultiply) {
    return static_cast<T>(static_cast<W>(x) * static_cast<W>(y));
  } else if constexpr (op == DirectOp::kDivide) {
    return x / y;
  } else if constexpr (op == DirectOp::kMaximum) {
    return greater_of(x, y);
  } else if constexpr (op == DirectOp::kMinimum) {
    return lesser_of(x, y);
  } else if constexpr (op == DirectOp::kEqual) {
    return static_cast<uint8_t>(x == y);
  } else if constexpr (op == DirectOp::kNotEqual) {
    return static_cast<uint8_t>(x != y);
  } else if constexpr (op == DirectOp::kLess) {
    return static_cast<uint8_t>(x < y);
  } else if constexpr (op == DirectOp::kLessEqual) {
    return static_cast<uint8_t>(x <= y);
  } else if constexpr (op == DirectOp::kGreater) {
    return static_cast<uint8_t>(x > y);
  } else {
    static_assert(op == DirectOp::kGreaterEqual);
    return static_cast<uint8_t>(x >= y);
  }
}

template <DirectOp op, class T>
inline T apply(T x) {
  constexpr Bits<T> kSign = Bits<T>{1} << (8 * sizeof(T) - 1);
  if constexpr (op == DirectOp::kSqrt) {
    if constexpr (sizeof(T) == sizeof(float))
      return __builtin_sqrtf(x);
    else
      return __builtin_sqrt(x);
  } else if constexpr (kIsFloat<T>) {
    return from_bits<T>(op == DirectOp::kNegate ? bits(x) ^ kSign : bits(x) & ~kSign);
  } else {
    return from_bits<T>(op == DirectOp::kNegate || x < 0 ? Bits<T>{0} - bits(x) : bits(x));
  }
}

enum Form { kArrays, kSecondIsOne, kFirstIsOne };  // as DirectForm

// Of the loop below: its results may lie where an operand does, element by element, and nowhere
// else beside it.
#if defined(__clang__)
#define HEDDLE_ELEMENTS _Pragma("clang loop vectorize(assume_safety)")
#else
#define HEDDLE_ELEMENTS _Pragma("GCC ivdep")
#endif

template <DirectOp op, class T, Form form>
void two(const void* first, const void* second, void* result, int64_t count) {
  using Out = decltype(apply<op>(T{}, T{}));
  const T* x = static_cast<const T*>(first);
  const T* y = static_cast<const T*>(second);
  Out* out = static_cast<Out*>(result);
  if constexpr (form == kArrays) {
    HEDDLE_ELEMENTS
    for (int64_t i = 0; i < count; ++i) out[i] = apply<op>(x[i], y[i]);
  } else if constexpr (form == kSecondIsOne) {
    const T one = *y;
    HEDDLE_ELEMENTS
    for (int64_t i = 0; i < count; ++i) out[i] = apply<op>(x[i], one);
  } else {
    const T one = *x;
    HEDDLE_ELEMENTS
    for (int64_t i = 0; i < count; ++i) out[i] = apply<op>(one, y[i]);
  }
}

template <DirectOp op, class T>
void one(const void* first, const void* /*second*/, void* result, int64_t count) {
  const T* x = static_cast<const T*>(first);
  T* out = static_cast<T*>(result);
  HEDDLE_ELEMENTS
  for (int64_t i = 0; i < count; ++i) out[i] = apply<op>(x[i]);
}

#undef HEDDLE_ELEMENTS

// Division and roots of integers are programs'.
template <DirectOp op, class T>
constexpr void fill(DirectKernels& kernels, size_t type) {
  constexpr bool kHas = kIsFloat<T> || (op != DirectOp::kDivide && op != DirectOp::kSqrt);
  auto& forms = kernels.table[static_cast<size_t>(op)][type];
  if constexpr (kHas && runtime::is_unary(op)) {
    forms[kArrays] = one<op, T>;
  } else if constexpr (kHas) {
    forms[kArrays] = two<op, T, kArrays>;
    forms[kSecondIsOne] = two<op, T, kSecondIsOne>;
    forms[kFirstIsOne] = two<op, T, kFirstIsOne>;
  }
}

template <size_t... ops>
constexpr DirectKernels make_kernels(std::index_sequence<ops...>) {
  DirectKernels kernels{};
  (fill<static_cast<DirectOp>(ops), float>(kernels, 0), ...);
  (fill<static_cast<DirectOp>(ops), double>(kernels, 1), ...);
  (fill<static_cast<DirectOp>(ops), int32_t>(kernels, 2), ...);
  (fill<static_cast<DirectOp>(ops), int64_t>(kernels, 3), ...);
  return kernels;
}

constexpr DirectKernels kKernels = make_kernels(std::make_index_sequence<runtime::kDirectOps>());

}  // namespace
}  // namespace heddle::cpu
