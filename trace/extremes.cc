#include "heddle/trace/extremes.h"

#include <cmath>

namespace heddle::trace_internal {

Literal extreme(DType dtype, bool lowest) {
  if (dtype == pred) return Literal::scalar(pred, static_cast<int64_t>(!lowest));
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
