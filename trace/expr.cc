#include "heddle/trace/expr.h"

#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"

namespace heddle::trace_internal {

Expr floating(std::string_view name, const Operand& x) {
  Expr value(as_tensor(x));
  if (is_floating(value.dtype())) return value;
  refuse(name, " is ", value.tensor().shape(), "; it must be of floats, cast it with astype(f32)");
}

void require_inexact(const Operand& x) {
  const Tensor value = as_tensor(x);
  if (is_floating(value.dtype()) || is_complex(value.dtype())) return;
  refuse("x is ", value.shape(), "; it must be of floats, cast it with astype(f32)");
}

Reduction checked(const Operand& x, Reduction over) {
  const Shape& shape = as_tensor(x).shape();
  over.axes = axes_of(shape, over.axes.of_rank(shape.rank()));
  return over;
}

Expr polynomial(const Expr& x, std::span<const double> coefficients) {
  Expr sum = x.like(coefficients[0]);
  for (double c : coefficients.subspan(1)) sum = sum * x + c;
  return sum;
}

}  // namespace heddle::trace_internal
