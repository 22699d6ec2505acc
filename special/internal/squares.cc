#include "heddle/special/internal/squares.h"

namespace heddle::special_internal {

Square split_square(const Expr& x) {
  bool wide = x.dtype() == f64;
  Expr head = reduce_precision(x.operand(), wide ? 11 : 8, wide ? 25 : 11);
  return {head * head, (x - head) * (x + head)};
}

Expr exp_of_square(double factor, const Expr& x) {
  const auto is_far = abs(x) > 100.0;  // where the derivative is 0 as well
  const Square s = split_square(where(is_far, 0.0, x));
  return where(is_far, 0.0, exp(factor * s.exact) * exp(factor * s.rest));
}

}  // namespace heddle::special_internal
