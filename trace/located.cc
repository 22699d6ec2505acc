#include "heddle/trace/located.h"

#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

Located floating(std::string_view op, std::string_view name, const Operand& x) {
  Located value(as_tensor(x), x.at());
  if (is_floating(value.dtype())) return value;
  throw Error(invalid_argument(op, ": ", name, " is ", value.tensor().shape(),
                               "; it must be of floats, cast it with astype(f32)"),
              x.at());
}

void require_inexact(std::string_view op, const Operand& x) {
  const Tensor value = as_tensor(x);
  if (is_floating(value.dtype()) || is_complex(value.dtype())) return;
  throw Error(invalid_argument(op, ": x is ", value.shape(),
                               "; it must be of floats, cast it with astype(f32)"),
              x.at());
}

Reduction checked(std::string_view op, const Operand& x, Reduction over) {
  const Shape& shape = as_tensor(x).shape();
  over.axes = axes_of(op, shape, over.axes.of_rank(shape.rank()), x.at());
  return over;
}

Located polynomial(const Located& x, std::span<const double> coefficients) {
  Located sum = x.like(coefficients[0]);
  for (double c : coefficients.subspan(1)) sum = sum * x + c;
  return sum;
}

}  // namespace heddle::trace_internal
