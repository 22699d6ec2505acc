// Integer functions of HLO, on 64-bit values that hold a type of `bits` bits (signed ones
// sign-extended). Results are cut to the width by who stores them. Nothing traps and nothing is
// undefined: see the rules beside each function.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace heddle::interpreter::integer_math {

// Two's complement arithmetic, for signed types too.
inline uint64_t add(uint64_t x, uint64_t y) { return x + y; }
inline uint64_t subtract(uint64_t x, uint64_t y) { return x - y; }
inline uint64_t multiply(uint64_t x, uint64_t y) { return x * y; }

// The pattern of x alone: a signed x without its extension.
inline uint64_t low_bits(uint64_t x, int bits) { return x << (64 - bits) >> (64 - bits); }

// The pattern of x taken as signed.
inline int64_t as_signed(uint64_t x, int bits) {
  return static_cast<int64_t>(x << (64 - bits)) >> (64 - bits);
}

// Toward zero. x / 0 is all ones; the least number divided by -1 is itself.
inline int64_t divide(int64_t x, int64_t y) {
  if (y == 0) return -1;
  return y == -1 ? static_cast<int64_t>(subtract(0, static_cast<uint64_t>(x))) : x / y;
}
inline uint64_t divide(uint64_t x, uint64_t y) { return y == 0 ? UINT64_MAX : x / y; }

// With the sign of x. x % 0 is x; the least number modulo -1 is 0.
inline int64_t remainder(int64_t x, int64_t y) {
  if (y == 0) return x;
  return y == -1 ? 0 : x % y;
}
inline uint64_t remainder(uint64_t x, uint64_t y) { return y == 0 ? x : x % y; }

inline uint64_t power(uint64_t x, uint64_t y) {
  uint64_t product = 1;
  for (; y != 0; y >>= 1, x *= x) {
    if (y & 1) product *= x;
  }
  return product;
}
// A negative exponent gives 0, but for the bases 1 and -1.
inline int64_t power(int64_t x, int64_t y) {
  if (y >= 0)
    return static_cast<int64_t>(power(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
  if (x == 1) return 1;
  return x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
}

// The upper half of the product of twice the width.
template <class Int>
inline uint64_t multiply_high(Int x, Int y, int bits) {
  using Wide = std::conditional_t<std::is_signed_v<Int>, __int128, unsigned __int128>;
  return static_cast<uint64_t>((static_cast<Wide>(x) * y) >> bits);
}

// The amount is read as unsigned: from the width on, nothing of x is left but the sign, where the
// shift keeps that.
inline uint64_t shift_left(uint64_t x, uint64_t y, int bits) {
  return low_bits(y, bits) >= static_cast<uint64_t>(bits) ? 0 : x << low_bits(y, bits);
}
inline uint64_t shift_right_logical(uint64_t x, uint64_t y, int bits) {
  return low_bits(y, bits) >= static_cast<uint64_t>(bits) ? 0
                                                          : low_bits(x, bits) >> low_bits(y, bits);
}
inline int64_t shift_right_arithmetic(uint64_t x, uint64_t y, int bits) {
  return as_signed(x, bits) >>
         std::min<uint64_t>(low_bits(y, bits), static_cast<uint64_t>(bits - 1));
}

inline int count_leading_zeros(uint64_t x, int bits) {
  return std::countl_zero(low_bits(x, bits)) - (64 - bits);
}
inline int population_count(uint64_t x, int bits) { return std::popcount(low_bits(x, bits)); }

}  // namespace heddle::interpreter::integer_math
