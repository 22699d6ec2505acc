#include "heddle/codegen/plan/quotients.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace heddle::cpu {
namespace {

__extension__ using Wide = __int128;

// y with y * x = 1 modulo 2^64, of an odd x.
uint64_t inverse_modulo(uint64_t x) {
  uint64_t y = x;  // right in three bits; each turn doubles them
  for (int bits = 3; bits < 64; bits *= 2) y *= 2 - x * y;
  return y;
}

// The quotients that are closest to the middle of two neighbours are the only ones that can round
// otherwise. x / divisor is such a one where x 2^scale = middle * divisor + rest in integers, and
// |rest| is 3 at most: the sum of products is off by less than 2^(1 - 2 digits).
template <class T>
bool rounds_as_division(T divisor, const InverseParts<T>& inverse) {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  constexpr int64_t kMostRest = 3;
  const auto whole = static_cast<uint64_t>(std::ldexp(divisor, kDigits - 1));
  const int zeros = std::countr_zero(whole);
  if (zeros > 1) return true;  // rests are multiples of 4
  const uint64_t odd = whole >> zeros;
  constexpr uint64_t kLeast = uint64_t{1} << kDigits;  // middles have a digit more than numbers
  for (const int scale : {kDigits - zeros, kDigits + 1 - zeros}) {
    const uint64_t step = uint64_t{1} << scale;
    for (int64_t rest = -kMostRest; rest <= kMostRest; ++rest) {
      uint64_t middle = (static_cast<uint64_t>(-rest) * inverse_modulo(odd)) & (step - 1);
      for (; middle < 2 * kLeast; middle += step) {
        const auto whole_x = static_cast<uint64_t>((Wide(middle) * Wide(odd) + rest) >> scale);
        if (middle < kLeast || whole_x < kLeast / 2 || whole_x >= kLeast) continue;
        const T x = std::ldexp(static_cast<T>(whole_x), 1 - kDigits);
        if (std::fma(x, inverse.high, x * inverse.low) != x / divisor) return false;
      }
    }
  }
  return true;
}

}  // namespace

template <class T>
std::optional<InverseParts<T>> inverse_in_parts(T divisor) {
  int exponent = 0;
  const T d = 2 * std::frexp(std::abs(divisor), &exponent);  // from 1 to 2
  if (!std::isnormal(divisor)) return {};
  InverseParts<T> inverse;
  inverse.high = 1 / d;
  if (std::fma(inverse.high, d, T(-1)) > 0) inverse.high = std::nextafter(inverse.high, T(0));
  inverse.low = -std::fma(inverse.high, d, T(-1)) / d;
  if (!rounds_as_division(d, inverse)) return {};
  for (T* part : {&inverse.high, &inverse.low})
    *part = std::copysign(std::ldexp(*part, 1 - exponent), divisor);
  if (!std::isnormal(inverse.high) || !std::isnormal(inverse.low)) return {};
  (void)std::frexp(inverse.low, &exponent);
  inverse.least = std::ldexp(std::numeric_limits<T>::min(), 1 - exponent);
  return inverse;
}

template std::optional<InverseParts<float>> inverse_in_parts(float);
template std::optional<InverseParts<double>> inverse_in_parts(double);

}  // namespace heddle::cpu
