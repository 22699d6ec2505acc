#include "heddle/trace/ops/elementwise/extremes.h"

#include <cmath>

namespace heddle::trace_internal {

namespace {

// The greatest number of a float without infinities; 0 of others.
double greatest_finite(DType dtype) {
  switch (dtype) {
    case f8e4m3fn: return 448;
    case f8e4m3fnuz: return 240;
    case f8e5m2fnuz: return 57344;
    case f8e4m3b11fnuz: return 30;
    case f4e2m1fn: return 6;
    case f8e8m0fnu: return 0x1p127;
    default: return 0;
  }
}

}  // namespace

Literal extreme(DType dtype, bool lowest) {
  if (dtype == pred) return Literal::scalar(pred, static_cast<int64_t>(!lowest));
  if (dtype == f8e8m0fnu && lowest) return Literal::scalar(dtype, 0x1p-127);  // has no sign
  if (const double size = greatest_finite(dtype); size != 0)
    return Literal::scalar(dtype, lowest ? -size : size);
  if (is_floating(dtype) || is_complex(dtype))
    return Literal::scalar(dtype, lowest ? -INFINITY : INFINITY);
  int64_t bits = bit_width(dtype);
  if (is_unsigned(dtype))
    return Literal::scalar(dtype, lowest       ? int64_t{0}
                                  : bits == 64 ? int64_t{-1}
                                               : (int64_t{1} << bits) - 1);
  int64_t top = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  return Literal::scalar(dtype, lowest ? -top - 1 : top);
}

}  // namespace heddle::trace_internal
