// For tests of op definitions: that a float result is the true value rounded once.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "heddle/hlo/literal/literal.h"
#include "heddle/hlo/literal/native.h"

namespace heddle::interpreter::op_testing {

// Distance between x, not negative, and the next larger number of the type.
inline long double spacing(DType dtype, double x) {
  if (dtype == f64) return std::nextafter(x, HUGE_VAL) - static_cast<long double>(x);
  if (dtype == f32)
    return std::nextafter(static_cast<float>(x), HUGE_VALF) - static_cast<long double>(x);
  const uint16_t bits = encode_small_float(dtype, x);
  return decode_small_float(dtype, static_cast<uint16_t>(bits + 1)) - static_cast<long double>(x);
}

// `got`, an element of a float type, is at most half a unit of the last place from the true value
// `want`; for f64, where libm is trusted, at most one unit. NaN for NaN; infinities and the signs
// of zeros as rounding gives them.
inline void expect_rounded_once(DType dtype, double got, long double want) {
  SCOPED_TRACE(base::cat("is ", got, ", want ", static_cast<double>(want)));
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got));
  } else if (std::isinf(got) || want == 0) {
    EXPECT_EQ(got, Literal::scalar(dtype, static_cast<double>(want)).to_double(0));
    EXPECT_EQ(std::signbit(got), std::signbit(want));
  } else {
    const long double units = std::fabs(got - want) / spacing(dtype, std::fabs(got));
    EXPECT_LE(units, dtype == f64 ? 1.0L : 0.5001L);
  }
}

}  // namespace heddle::interpreter::op_testing
