#include "heddle/hlo/literal/blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "heddle/hlo/internal/small_float.h"
#include "heddle/hlo/literal/native.h"

namespace heddle {
namespace {

template <class T>
inline constexpr bool kIsSmallFloat = false;
template <DType kType, class Storage>
inline constexpr bool kIsSmallFloat<SmallFloat<kType, Storage>> = true;

template <DType kType, class Storage>
double decode(SmallFloat<kType, Storage> x) {
  // bf16 goes through f32, so that FlushSubnormals holds for it as it does in XLA.
  if constexpr (kType == DType::kBF16) return to_f64(x);
  return small_float::decode<kType>(x.bits);
}

template <class T>
inline constexpr bool kIsSmallInt = false;
template <DType kType, class Storage>
inline constexpr bool kIsSmallInt<SmallInt<kType, Storage>> = true;
template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

constexpr int bits_of(DType dtype) {
  switch (dtype) {
#define HEDDLE_X(enumerator, text, number, bits, bytes, kind) \
  case DType::enumerator: return bits;
    HEDDLE_DTYPES(HEDDLE_X)
#undef HEDDLE_X
    default: return 0;
  }
}

// Smallest and largest value of an integer type of so many bits.
template <class Int>
constexpr Int least_of(int bits) {
  return std::is_signed_v<Int> ? static_cast<Int>(INT64_MIN >> (64 - bits)) : Int{0};
}
template <class Int>
constexpr Int most_of(int bits) {
  int magnitude_bits = bits - (std::is_signed_v<Int> ? 1 : 0);
  if (magnitude_bits == 64) return static_cast<Int>(UINT64_MAX);
  return static_cast<Int>((uint64_t{1} << magnitude_bits) - 1);
}

template <class Int>
inline Int saturate(double x, int bits) {
  double bound = std::ldexp(1.0, bits - (std::is_signed_v<Int> ? 1 : 0));  // first value too large
  if (x >= bound) return most_of<Int>(bits);
  if (std::is_signed_v<Int> ? x < -bound : x <= 0) return least_of<Int>(bits);
  return x != x ? Int{0} : static_cast<Int>(x);
}

// The low bits of x, as a signed or unsigned number.
template <class Int>
constexpr Int wrap(int64_t x, int bits) {
  if constexpr (std::is_signed_v<Int>) {
    return static_cast<Int>(static_cast<int64_t>(static_cast<uint64_t>(x) << (64 - bits)) >>
                            (64 - bits));
  } else {
    return static_cast<Int>(static_cast<uint64_t>(x) << (64 - bits) >> (64 - bits));
  }
}

// Rounds the magnitude to 53 bits, the last one set if anything was lost.
double to_odd(uint64_t magnitude) {
  int extra = 64 - 53 - std::countl_zero(magnitude | 1);
  if (extra <= 0) return static_cast<double>(magnitude);
  uint64_t lost = magnitude & ((uint64_t{1} << extra) - 1);
  return static_cast<double>(((magnitude >> extra) | (lost != 0)) << extra);
}

double to_odd_signed(int64_t x) {
  return x < 0 ? -to_odd(0 - static_cast<uint64_t>(x)) : to_odd(static_cast<uint64_t>(x));
}

// The number that an element is; of a complex one the real part.
template <class T>
inline double to_double(const T& x) {
  if constexpr (kIsComplex<T>) {
    return x.real();
  } else if constexpr (kIsSmallFloat<T>) {
    return decode(x);
  } else if constexpr (kIsSmallInt<T>) {
    return x.value;
  } else {
    return static_cast<double>(x);
  }
}

template <class T>
inline int64_t to_int(const T& x) {
  if constexpr (kIsSmallInt<T>) {
    return x.value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(x);
  } else {
    return saturate<int64_t>(to_double(x), 64);
  }
}

template <DType kType>
inline Native<kType> from_double(double x) {
  using T = Native<kType>;
  if constexpr (kType == DType::kPred) {
    return x != 0;  // NaN too
  } else if constexpr (kIsSmallFloat<T>) {
    return T{static_cast<decltype(T::bits)>(small_float::encode<kType>(x))};
  } else if constexpr (kIsSmallInt<T>) {
    return T{saturate<decltype(T::value)>(x, bits_of(kType))};
  } else if constexpr (std::is_integral_v<T>) {
    return saturate<T>(x, bits_of(kType));
  } else if constexpr (kIsComplex<T>) {
    return T(static_cast<typename T::value_type>(x), 0);
  } else {
    return static_cast<T>(x);
  }
}

template <DType kType>
inline Native<kType> from_int(int64_t x) {
  using T = Native<kType>;
  if constexpr (kType == DType::kPred) {
    return x != 0;
  } else if constexpr (kIsSmallInt<T>) {
    return T{wrap<decltype(T::value)>(x, bits_of(kType))};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(x);
  } else if constexpr (kType == DType::kF64 || kType == DType::kC128) {
    return static_cast<double>(x);
  } else {
    return from_double<kType>(to_odd_signed(x));
  }
}

template <class T>
const T* elements(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);
}
template <class T>
T* elements(std::byte* bytes) {
  return reinterpret_cast<T*>(bytes);
}

template <class T, class To, class Convert>
inline void each(const T* from, int64_t count, To* to, Convert convert) {
  for (int64_t i = 0; i < count; ++i) to[i] = convert(from[i]);
}

}  // namespace

void load(DType dtype, const std::byte* from, int64_t count, double* to, WideInt rounding) {
  if (rounding == WideInt::kOdd && dtype == DType::kS64) {
    return each(elements<int64_t>(from), count, to, to_odd_signed);
  }
  if (rounding == WideInt::kOdd && dtype == DType::kU64) {
    return each(elements<uint64_t>(from), count, to, to_odd);
  }
  visit_dtype(dtype, [&](auto type) {
    each(elements<Native<type()>>(from), count, to, [](const auto& x) { return to_double(x); });
  });
}

void load(DType dtype, const std::byte* from, int64_t count, int64_t* to) {
  visit_dtype(dtype, [&](auto type) {
    each(elements<Native<type()>>(from), count, to, [](const auto& x) { return to_int(x); });
  });
}

void load(DType dtype, const std::byte* from, int64_t count, std::complex<double>* to) {
  visit_dtype(dtype, [&](auto type) {
    each(elements<Native<type()>>(from), count, to, [](const auto& x) {
      if constexpr (kIsComplex<std::decay_t<decltype(x)>>) {
        return std::complex<double>(x.real(), x.imag());
      } else {
        return std::complex<double>(to_double(x), 0);
      }
    });
  });
}

void store(DType dtype, const double* from, int64_t count, std::byte* to) {
  visit_dtype(dtype, [&](auto type) {
    constexpr DType kType = type();
    each(from, count, elements<Native<kType>>(to), from_double<kType>);
  });
}

void store(DType dtype, const int64_t* from, int64_t count, std::byte* to) {
  visit_dtype(dtype, [&](auto type) {
    constexpr DType kType = type();
    each(from, count, elements<Native<kType>>(to), from_int<kType>);
  });
}

void store(DType dtype, const std::complex<double>* from, int64_t count, std::byte* to) {
  visit_dtype(dtype, [&](auto type) {
    constexpr DType kType = type();
    using T = Native<kType>;
    each(from, count, elements<T>(to), [](const std::complex<double>& x) {
      if constexpr (kIsComplex<T>) {
        using Part = typename T::value_type;
        return T(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
      } else if constexpr (kType == DType::kPred) {
        return x != 0.0;
      } else {
        return from_double<kType>(x.real());
      }
    });
  });
}

namespace {

// Through blocks of T, which holds every element of `from` exactly (or rounds it so that the next
// rounding is right).
template <class T, class... Rounding>
void convert_through(DType from, const std::byte* x, DType to, std::byte* out, int64_t count,
                     Rounding... rounding) {
  constexpr int64_t kBlock = 256;
  T values[kBlock];
  for (int64_t at = 0; at < count; at += kBlock) {
    const int64_t n = std::min(kBlock, count - at);
    load(from, x + at * storage_bytes(from), n, values, rounding...);
    store(to, values, n, out + at * storage_bytes(to));
  }
}

}  // namespace

void convert_elements(DType from, const std::byte* x, DType to, std::byte* out, int64_t count) {
  const bool between_integers = !is_floating(from) && !is_floating(to) && !is_complex(to);
  if (is_complex(from)) {
    convert_through<std::complex<double>>(from, x, to, out, count);
  } else if (between_integers) {
    convert_through<int64_t>(from, x, to, out, count);
  } else {
    const WideInt rounding = real_part(to) == DType::kF64 ? WideInt::kNearestEven : WideInt::kOdd;
    convert_through<double>(from, x, to, out, count, rounding);
  }
}

}  // namespace heddle
