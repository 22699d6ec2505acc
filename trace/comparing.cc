#include "heddle/trace/comparing.h"

#include "heddle/trace/located.h"

namespace heddle::trace_internal {
namespace {

Located real_before(const Located& a, const Located& b, bool descending) {
  const Located first = descending ? a > b : a < b;
  if (!is_floating(a.dtype())) return first;
  return first | (descending ? is_nan(a) & ~is_nan(b) : is_nan(b) & ~is_nan(a));
}

Located real_level(const Located& a, const Located& b) {
  const Located same = a == b;
  return is_floating(a.dtype()) ? same | (is_nan(a) & is_nan(b)) : same;
}

Located real_part(const Located& x) { return x.with(real(x.operand())); }
Located imaginary_part(const Located& x) { return x.with(imag(x.operand())); }

}  // namespace

Tensor comes_before(const Tensor& left, const Tensor& right, bool descending, SourceLocation at) {
  const Located a(left, at), b(right, at);
  if (!is_complex(a.dtype())) return real_before(a, b, descending).tensor();
  const Located a_real = real_part(a), b_real = real_part(b);
  const Located behind = real_before(imaginary_part(a), imaginary_part(b), descending);
  const Located ahead = real_before(a_real, b_real, descending);
  const Located level = real_level(a_real, b_real);
  return (ahead | (level & behind)).tensor();
}

Tensor is_level(const Tensor& left, const Tensor& right, SourceLocation at) {
  const Located a(left, at), b(right, at);
  if (!is_complex(a.dtype())) return real_level(a, b).tensor();
  const Located reals = real_level(real_part(a), real_part(b));
  const Located others = real_level(imaginary_part(a), imaginary_part(b));
  return (reals & others).tensor();
}

}  // namespace heddle::trace_internal
