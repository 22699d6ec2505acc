#include "heddle/trace/ops/movement/positions.h"

#include "heddle/trace/ops/elementwise/elementwise.h"
#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

Tensor from_start(const Tensor& indices, int64_t size) {
  if (is_unsigned(indices.dtype())) return indices;
  return where(less(indices, 0), add(indices, size), indices);
}

Tensor widened(const Tensor& indices) {
  return bit_width(indices.dtype()) < 32 ? indices.astype(s32) : indices;
}

void require_integers(const Tensor& indices) {
  if (is_integer(indices.dtype())) return;
  refuse("indices are ", indices.shape(), "; they must be integers, cast them with astype(s32)");
}

Status nothing_to_take(std::string_view op, const Shape& shape, int64_t axis) {
  return invalid_argument(op, ": axis ", axis, " of ", shape,
                          " has size 0; there is nothing to take");
}

}  // namespace heddle::trace_internal
