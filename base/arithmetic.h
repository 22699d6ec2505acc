// Sums of sizes. Programs choose the sizes, so a sum may overflow.
#pragma once

#include <cstdint>

namespace heddle {

// Returns a + b, or INT64_MAX where that is more. Neither is negative.
[[nodiscard]] constexpr int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace heddle
