// The float formats of 16 bits and fewer, and their conversions, inline: a block conversion with a
// constant format is several times faster than calls of decode_small_float().
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "heddle/hlo/dtype.h"

namespace heddle::small_float {

// How a format of sign, exponent and mantissa spends its patterns. Below sign and max lie the
// finite values, in order of size.
struct Format {
  int mantissa_bits = 0;
  int bias = 0;
  uint16_t sign = 0;      // the sign bit
  uint16_t max = 0;       // largest finite magnitude
  uint16_t overflow = 0;  // what larger magnitudes become: infinity, NaN or max
  // the NaN that is written; patterns above max, but for infinity, all read as NaN
  uint16_t nan = 0;
  bool has_infinity = false;
  bool unsigned_zero = false;  // fnuz: there is no -0, and its pattern is the only NaN
};

constexpr Format ieee(int exponent_bits, int mantissa_bits) {
  auto infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  return {.mantissa_bits = mantissa_bits,
          .bias = (1 << (exponent_bits - 1)) - 1,
          .sign = static_cast<uint16_t>(1 << (exponent_bits + mantissa_bits)),
          .max = static_cast<uint16_t>(infinity - 1),
          .overflow = infinity,
          .nan = static_cast<uint16_t>(infinity | (1 << (mantissa_bits - 1))),
          .has_infinity = true};
}

constexpr Format fnuz(int mantissa_bits, int bias) {
  return {.mantissa_bits = mantissa_bits,
          .bias = bias,
          .sign = 0x80,
          .max = 0x7F,
          .overflow = 0x80,
          .nan = 0x80,
          .unsigned_zero = true};
}

inline constexpr Format kF16Format = ieee(5, 10);
inline constexpr Format kBF16Format = ieee(8, 7);
inline constexpr Format kE5M2 = ieee(5, 2);
inline constexpr Format kE4M3 = ieee(4, 3);
inline constexpr Format kE3M4 = ieee(3, 4);
inline constexpr Format kE4M3FN = {
    .mantissa_bits = 3, .bias = 7, .sign = 0x80, .max = 0x7E, .overflow = 0x7F, .nan = 0x7F};
inline constexpr Format kE4M3B11FNUZ = fnuz(3, 11);
inline constexpr Format kE4M3FNUZ = fnuz(3, 8);
inline constexpr Format kE5M2FNUZ = fnuz(2, 16);
// No NaN: one becomes a zero of the other sign, as in ml_dtypes.
inline constexpr Format kE2M1FN = {
    .mantissa_bits = 1, .bias = 1, .sign = 0x8, .max = 0x7, .overflow = 0x7, .nan = 0x8};

inline constexpr uint64_t kMantissa64 = (uint64_t{1} << 52) - 1;

inline double decode(const Format& f, uint16_t bits) {
  uint16_t magnitude = bits & static_cast<uint16_t>(f.sign - 1);
  bool negative = (bits & f.sign) != 0;
  if (f.unsigned_zero && bits == f.nan) return std::numeric_limits<double>::quiet_NaN();
  if (magnitude > f.max) {
    double special = f.has_infinity && magnitude == f.overflow
                         ? std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
    return negative ? -special : special;
  }
  int exponent = magnitude >> f.mantissa_bits;
  uint64_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  if (exponent == 0) {
    double unit =
        std::bit_cast<double>(static_cast<uint64_t>(1023 + 1 - f.bias - f.mantissa_bits) << 52);
    double value = static_cast<double>(mantissa) * unit;
    return negative ? -value : value;
  }
  uint64_t wide = static_cast<uint64_t>(exponent - f.bias + 1023) << 52;
  wide |= mantissa << (52 - f.mantissa_bits);
  return std::bit_cast<double>(wide | static_cast<uint64_t>(negative) << 63);
}

// value / 2^shift to nearest even, for shift in [1, 63].
inline uint64_t shift_right_to_even(uint64_t value, int shift) {
  uint64_t quotient = value >> shift;
  uint64_t rest = value & ((uint64_t{1} << shift) - 1);
  uint64_t half = uint64_t{1} << (shift - 1);
  return quotient + static_cast<uint64_t>(rest > half || (rest == half && (quotient & 1) != 0));
}

inline uint16_t encode(const Format& f, double value) {
  uint64_t wide = std::bit_cast<uint64_t>(value);
  uint16_t sign = (wide >> 63) != 0 ? f.sign : 0;
  if (value != value) return f.unsigned_zero ? f.nan : static_cast<uint16_t>(f.nan ^ sign);
  int exponent = static_cast<int>((wide >> 52) & 0x7FF) - 1023;
  int least = 1 - f.bias;
  int shift = 52 - f.mantissa_bits + (exponent < least ? least - exponent : 0);
  // Past 54 nothing is left, not even half a unit: doubles that are subnormal end here too.
  uint64_t magnitude =
      shift > 54 ? 0 : shift_right_to_even((wide & kMantissa64) | (kMantissa64 + 1), shift);
  // The hidden bit, or a carry of the rounding, steps the exponent up by itself.
  if (exponent > least) magnitude += static_cast<uint64_t>(exponent - least) << f.mantissa_bits;
  if (magnitude > f.max) return f.unsigned_zero ? f.overflow : f.overflow | sign;
  if (f.unsigned_zero && magnitude == 0) return 0;
  return static_cast<uint16_t>(magnitude | sign);
}

// f8e8m0fnu holds powers of two alone, 2^-127 (0x00) to 2^127 (0xFE); 0xFF is NaN, and all that is
// not above zero becomes it.
inline double decode_e8m0(uint16_t bits) {
  if (bits == 0xFF) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(1.0, static_cast<int>(bits) - 127);
}

// Halfway, at 1.5 * 2^n, goes up: the two neighbours have no even mantissa to choose by.
inline uint16_t encode_e8m0(double value) {
  if (!(value > 0)) return 0xFF;
  uint64_t wide = std::bit_cast<uint64_t>(value);
  int exponent = static_cast<int>((wide + (uint64_t{1} << 51)) >> 52) - 1023;
  if (exponent > 127) return 0xFF;
  return exponent < -127 ? 0 : static_cast<uint16_t>(exponent + 127);
}

// By dtype. f8e8m0fnu is not of this kind.
constexpr const Format& format_of(DType dtype) {
  switch (dtype) {
    case DType::kF16: return kF16Format;
    case DType::kF8E5M2: return kE5M2;
    case DType::kF8E4M3FN: return kE4M3FN;
    case DType::kF8E4M3B11FNUZ: return kE4M3B11FNUZ;
    case DType::kF8E5M2FNUZ: return kE5M2FNUZ;
    case DType::kF8E4M3FNUZ: return kE4M3FNUZ;
    case DType::kF8E4M3: return kE4M3;
    case DType::kF8E3M4: return kE3M4;
    case DType::kF4E2M1FN: return kE2M1FN;
    default: return kBF16Format;
  }
}

template <DType kType>
double decode(uint16_t bits) {
  if constexpr (kType == DType::kF8E8M0FNU) {
    return decode_e8m0(bits);
  } else {
    return decode(format_of(kType), bits);
  }
}

template <DType kType>
uint16_t encode(double value) {
  if constexpr (kType == DType::kF8E8M0FNU) {
    return encode_e8m0(value);
  } else {
    return encode(format_of(kType), value);
  }
}

}  // namespace heddle::small_float
