#include "heddle/trace/dtypes.h"

#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

Tensor like(std::string_view op, std::string_view name, const Operand& operand, DType dtype,
            SourceLocation at) {
  if (!operand.is_tensor()) return constant_like(operand, dtype);
  Tensor x = as_tensor(operand);
  if (x.dtype() == dtype) return x;
  throw Error(
      invalid_argument(op, ": ", name, " is ", x.shape(), "; it must be of ", to_string(dtype),
                       " as the others, cast it with astype(", to_string(dtype), ")"),
      at);
}

Tensor stretched(std::string_view op, const Tensor& value, const Dimensions& shape,
                 SourceLocation at) {
  const Dimensions& sizes = value.shape().dimensions();
  bool fits = sizes.size() <= shape.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    const int64_t size = sizes[sizes.size() - 1 - i];
    fits = size == 1 || size == shape[shape.size() - 1 - i];
  }
  if (fits) return broadcast_to(value, shape, at);
  throw Error(invalid_argument(op, ": value is ", value.shape(), "; it does not stretch to [",
                               base::join(shape, ","), "], the shape of what it goes to"),
              at);
}

Tensor wide_for_sums(const Tensor& x, SourceLocation at) {
  return is_floating(x.dtype()) && bit_width(x.dtype()) < 32 ? x.astype(f32, at) : x;
}

}  // namespace heddle::trace_internal
