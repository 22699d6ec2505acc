#include "heddle/trace/located.h"

#include "heddle/trace/error.h"

namespace heddle::trace_internal {

Located floating(std::string_view op, std::string_view name, const Operand& x) {
  Located value(as_tensor(x), x.at());
  if (is_floating(value.dtype())) return value;
  throw Error(invalid_argument(op, ": ", name, " is ", value.tensor().shape(),
                               "; it must be of floats, cast it with astype(f32)"),
              x.at());
}

Located polynomial(const Located& x, std::span<const double> coefficients) {
  Located sum = x.like(coefficients[0]);
  for (double c : coefficients.subspan(1)) sum = sum * x + c;
  return sum;
}

}  // namespace heddle::trace_internal
