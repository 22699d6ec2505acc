// The C++ type that holds one element of each dtype, and visit_dtype() to get from the one to the
// other.
//
// Integers and f32, f64, pred are C++'s own types; c64 and c128 are std::complex. The 16-bit and
// smaller floats are bits with conversions to and from f64, rounded once, to nearest even, in each
// format's own way at overflow.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "heddle/hlo/dtype.h"

namespace heddle {

// A float kept as bits. Storage is uint8_t or uint16_t.
template <DType kType, class Storage>
struct SmallFloat {
  Storage bits = 0;
  friend bool operator==(const SmallFloat&, const SmallFloat&) = default;  // of the bits
};

using F16 = SmallFloat<DType::kF16, uint16_t>;
using BF16 = SmallFloat<DType::kBF16, uint16_t>;

// An integer of fewer than 8 bits, kept in one byte: in range for its type, sign-extended when
// signed.
template <DType kType, class Storage>
struct SmallInt {
  Storage value = 0;
  friend bool operator==(const SmallInt&, const SmallInt&) = default;
};

// NativeOf<DType::kF32>::Type is float.
template <DType kType>
struct NativeOf;

#define HEDDLE_NATIVE(dtype, ...) \
  template <>                     \
  struct NativeOf<DType::dtype> { \
    using Type = __VA_ARGS__;     \
  };
HEDDLE_NATIVE(kPred, bool)
HEDDLE_NATIVE(kS8, int8_t)
HEDDLE_NATIVE(kS16, int16_t)
HEDDLE_NATIVE(kS32, int32_t)
HEDDLE_NATIVE(kS64, int64_t)
HEDDLE_NATIVE(kU8, uint8_t)
HEDDLE_NATIVE(kU16, uint16_t)
HEDDLE_NATIVE(kU32, uint32_t)
HEDDLE_NATIVE(kU64, uint64_t)
HEDDLE_NATIVE(kF16, F16)
HEDDLE_NATIVE(kF32, float)
HEDDLE_NATIVE(kF64, double)
HEDDLE_NATIVE(kC64, std::complex<float>)
HEDDLE_NATIVE(kBF16, BF16)
HEDDLE_NATIVE(kC128, std::complex<double>)
HEDDLE_NATIVE(kF8E5M2, SmallFloat<DType::kF8E5M2, uint8_t>)
HEDDLE_NATIVE(kF8E4M3FN, SmallFloat<DType::kF8E4M3FN, uint8_t>)
HEDDLE_NATIVE(kS4, SmallInt<DType::kS4, int8_t>)
HEDDLE_NATIVE(kU4, SmallInt<DType::kU4, uint8_t>)
HEDDLE_NATIVE(kF8E4M3B11FNUZ, SmallFloat<DType::kF8E4M3B11FNUZ, uint8_t>)
HEDDLE_NATIVE(kF8E5M2FNUZ, SmallFloat<DType::kF8E5M2FNUZ, uint8_t>)
HEDDLE_NATIVE(kF8E4M3FNUZ, SmallFloat<DType::kF8E4M3FNUZ, uint8_t>)
HEDDLE_NATIVE(kS2, SmallInt<DType::kS2, int8_t>)
HEDDLE_NATIVE(kU2, SmallInt<DType::kU2, uint8_t>)
HEDDLE_NATIVE(kF8E4M3, SmallFloat<DType::kF8E4M3, uint8_t>)
HEDDLE_NATIVE(kF8E3M4, SmallFloat<DType::kF8E3M4, uint8_t>)
HEDDLE_NATIVE(kS1, SmallInt<DType::kS1, int8_t>)
HEDDLE_NATIVE(kU1, SmallInt<DType::kU1, uint8_t>)
HEDDLE_NATIVE(kF4E2M1FN, SmallFloat<DType::kF4E2M1FN, uint8_t>)
HEDDLE_NATIVE(kF8E8M0FNU, SmallFloat<DType::kF8E8M0FNU, uint8_t>)
#undef HEDDLE_NATIVE

template <DType kType>
using Native = typename NativeOf<kType>::Type;

// Calls visit(std::integral_constant<DType, dtype>) for an array element type and returns its
// result; any other dtype is visited as pred, so check first. Every instantiation costs compile
// time: use it for loads and stores, not for whole algorithms.
template <class Visit>
decltype(auto) visit_dtype(DType dtype, Visit&& visit) {
  switch (dtype) {
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) \
  case DType::enumerator: return visit(std::integral_constant<DType, DType::enumerator>());
    HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
    case DType::kInvalid:
    case DType::kTuple:
    case DType::kOpaque:
    case DType::kToken:
    case DType::kBuffer: break;
  }
  return visit(std::integral_constant<DType, DType::kPred>());
}

// Exact value of the element with these bits, for any float type of 16 bits or fewer.
double decode_small_float(DType dtype, uint16_t bits);

// Bits of `value` rounded once to the type, to nearest even; overflow and NaN as the format says
// (inf, NaN, or saturation).
uint16_t encode_small_float(DType dtype, double value);

template <DType kType, class Storage>
inline double to_f64(SmallFloat<kType, Storage> x) {
  if constexpr (kType == DType::kBF16) {
    return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
  } else {
    return decode_small_float(kType, x.bits);
  }
}

}  // namespace heddle
