#include "heddle/trace/dtypes.h"

#include "heddle/trace/error.h"

namespace heddle::trace_internal {

Tensor like(std::string_view op, std::string_view name, const Operand& operand, DType dtype,
            SourceLocation at) {
  if (!operand.is_tensor()) return constant_like(operand, dtype, op);
  Tensor x = as_tensor(operand);
  if (x.dtype() == dtype) return x;
  throw Error(
      invalid_argument(op, ": ", name, " is ", x.shape(), "; it must be of ", to_string(dtype),
                       " as the others, cast it with astype(", to_string(dtype), ")"),
      at);
}

Tensor wide_for_sums(const Tensor& x, SourceLocation at) {
  return is_floating(x.dtype()) && bit_width(x.dtype()) < 32 ? x.astype(f32, at) : x;
}

}  // namespace heddle::trace_internal
