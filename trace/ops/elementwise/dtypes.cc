#include "heddle/trace/ops/elementwise/dtypes.h"

#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

Tensor like(std::string_view name, const Operand& operand, DType dtype) {
  if (!operand.is_tensor()) return constant_like(operand, dtype);
  Tensor x = as_tensor(operand);
  if (x.dtype() == dtype) return x;
  const bool would_round = is_floating(x.dtype()) && !is_floating(dtype) && !is_complex(dtype);
  refuse(name, " is ", x.shape(), "; it must be of ", to_string(dtype), " as the others, cast ",
         would_round ? "them" : "it", " with astype(", to_string(would_round ? x.dtype() : dtype),
         ")");
}

Tensor stretched(const Tensor& value, const Dimensions& shape) {
  const Dimensions& sizes = value.shape().dimensions();
  bool fits = sizes.size() <= shape.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    const int64_t size = sizes[sizes.size() - 1 - i];
    fits = size == 1 || size == shape[shape.size() - 1 - i];
  }
  if (fits) return broadcast_to(value, shape);
  refuse("value is ", value.shape(), "; it does not stretch to [", base::join(shape, ","),
         "], the shape of what it goes to: sizes must be equal or 1, counted from the last axis");
}

Tensor wide_for_sums(const Tensor& x) {
  return is_floating(x.dtype()) && bit_width(x.dtype()) < 32 ? x.astype(f32) : x;
}

}  // namespace heddle::trace_internal
