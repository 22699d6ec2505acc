#include "heddle/trace/ops/elementwise/comparing.h"

#include "heddle/trace/expr.h"

namespace heddle::trace_internal {
namespace {

Expr real_before(const Expr& a, const Expr& b, bool descending) {
  const Expr first = descending ? a > b : a < b;
  if (!is_floating(a.dtype())) return first;
  return first | (descending ? is_nan(a) & ~is_nan(b) : is_nan(b) & ~is_nan(a));
}

Expr real_level(const Expr& a, const Expr& b) {
  const Expr same = a == b;
  return is_floating(a.dtype()) ? same | (is_nan(a) & is_nan(b)) : same;
}

Expr real_part(const Expr& x) { return real(x.operand()); }
Expr imaginary_part(const Expr& x) { return imag(x.operand()); }

}  // namespace

Tensor comes_before(const Tensor& left, const Tensor& right, bool descending) {
  const Expr a(left), b(right);
  if (!is_complex(a.dtype())) return real_before(a, b, descending).tensor();
  const Expr a_real = real_part(a), b_real = real_part(b);
  const Expr behind = real_before(imaginary_part(a), imaginary_part(b), descending);
  const Expr ahead = real_before(a_real, b_real, descending);
  const Expr level = real_level(a_real, b_real);
  return (ahead | (level & behind)).tensor();
}

Tensor is_level(const Tensor& left, const Tensor& right) {
  const Expr a(left), b(right);
  if (!is_complex(a.dtype())) return real_level(a, b).tensor();
  const Expr reals = real_level(real_part(a), real_part(b));
  const Expr others = real_level(imaginary_part(a), imaginary_part(b));
  return (reals & others).tensor();
}

}  // namespace heddle::trace_internal
