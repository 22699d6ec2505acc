#include "heddle/numpy/polynomials.h"

#include <algorithm>

#include "heddle/numpy/internal/formula.h"
#include "heddle/numpy/sequences.h"
#include "heddle/numpy/vectors.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/ops/elementwise/dtypes.h"
#include "heddle/trace/public_call.h"

namespace heddle {
namespace {

constexpr int64_t kMostWrittenOut = 16;  // coefficients, each with a product of its own

using trace_internal::vector_of;
using trace_internal::wide_for_sums;

Expr fractions_of(std::string_view name, const Operand& x) {
  Expr out = vector_of(name, x);
  if (is_floating(out.dtype()) || is_complex(out.dtype())) return out;
  trace_internal::refuse(name, " is ", out.tensor().shape(),
                         "; it must be of floats or complex numbers, cast it with astype(f32)");
}

Expr fractions_of(std::string_view name, const Operand& x, base::Int times) {
  Expr out = fractions_of(name, x);
  if (times < 0) trace_internal::refuse("times is ", times, "; it must be 0 or more");
  return out;
}

void require_same(const Tensor& p, const Tensor& q) {
  if (p.dtype() == q.dtype()) return;
  trace_internal::refuse("q is ", q.shape(), "; p is ", p.shape(), ", cast q with astype(",
                         p.dtype(), ")");
}

// The coefficient of number i, a scalar.
Expr coefficient(const Expr& p, int64_t i) {
  return reshape(slice_in_dim(p.operand(), i, i + 1), {});
}

// p with zeros in front and at the end.
Expr shifted(const Expr& p, int64_t before, int64_t behind) {
  return pad(p.operand(), 0, {{before, behind}});
}

// Aligns p and q so that the same powers are in the same places.
template <class Fn>
Tensor aligned(std::string_view op, const Operand& left, const Operand& right, Fn&& fn) {
  const PublicCall call(op, left.at());
  Expr p = vector_of("p", left), q = vector_of("q", as_tensor(right));
  require_same(p.tensor(), q.tensor());
  return one_program(op, [&] {
    const int64_t n = std::max(p.tensor().size(), q.tensor().size());
    return fn(shifted(p, n - p.tensor().size(), 0), shifted(q, n - q.tensor().size(), 0)).tensor();
  });
}

// Long division: a coefficient of the quotient at a time. The lengths are fixed and short.
std::vector<Tensor> divided(Expr p, const Expr& q) {
  const int64_t n = p.tensor().size(), m = q.tensor().size();
  if (n < m) return {zeros({1}, p.dtype()), p.tensor()};
  std::vector<Tensor> quotient;
  for (int64_t i = 0; i + m <= n; ++i) {
    Expr factor = coefficient(p, i) / coefficient(q, 0);
    quotient.push_back(factor.tensor());
    p = p - shifted(q * factor, i, n - m - i);
  }
  Tensor rest = m == 1 ? zeros({1}, p.dtype()) : slice_in_dim(p.operand(), n - m + 1, n);
  return {stack(quotient, 0), rest};
}

// The powers [highest, highest - 1 ..] of n coefficients, as p's dtype.
Expr powers(const Expr& p, int64_t n, const Expr& highest) {
  return (highest - Expr(iota(highest.dtype(), {n}, 0))).astype(p.dtype());
}

}  // namespace

Tensor polyval(Operand coefficients, Operand where) {
  const PublicCall call("polyval", coefficients.at());
  Expr p = vector_of("p", coefficients);
  const Tensor points = trace_internal::like("x", where, p.dtype());
  return one_program("polyval", [&] {
    Expr x(points), out = x.like(0);
    const int64_t n = p.tensor().size();
    for (int64_t i = 0; i < n; ++i)
      out = i == 0 ? x.like(0) + coefficient(p, i) : out * x + coefficient(p, i);
    return out.tensor();
  });
}

Tensor polyadd(Operand p, Operand q) {
  return aligned("polyadd", p, q, [](const Expr& a, const Expr& b) { return a + b; });
}

Tensor polysub(Operand p, Operand q) {
  return aligned("polysub", p, q, [](const Expr& a, const Expr& b) { return a - b; });
}

Tensor polymul(Operand left, Operand right) {
  const PublicCall call("polymul", left.at());
  Expr p = vector_of("p", left);
  Expr q = vector_of("q", as_tensor(right));
  require_same(p.tensor(), q.tensor());
  const int64_t n = p.tensor().size(), m = q.tensor().size();
  if (n == 0 || m == 0)
    trace_internal::refuse("operands are ", p.tensor().shape(), " and ", q.tensor().shape(),
                           "; they must have elements");
  return one_program("polymul", [&] {
    const Expr longer = wide_for_sums((n < m ? q : p).tensor());
    const Expr shorter = wide_for_sums((n < m ? p : q).tensor());
    const int64_t count = std::min(n, m);
    if (count > kMostWrittenOut)
      return Expr(convolve(longer.operand(), shorter.operand())).astype(p.dtype()).tensor();
    Expr out = shifted(longer * coefficient(shorter, 0), 0, count - 1);
    for (int64_t i = 1; i < count; ++i)
      out = out + shifted(longer * coefficient(shorter, i), i, count - 1 - i);
    return out.astype(p.dtype()).tensor();
  });
}

Quotient polydiv(Operand left, Operand right) {
  const PublicCall call("polydiv", left.at());
  Expr p = fractions_of("p", left);
  Expr q = fractions_of("q", as_tensor(right));
  require_same(p.tensor(), q.tensor());
  if (q.tensor().size() == 0 || p.tensor().size() == 0)
    trace_internal::refuse("operands are ", p.tensor().shape(), " and ", q.tensor().shape(),
                           "; they must have elements");
  std::vector<Tensor> out = in_program("polydiv", [&] { return divided(p, q); });
  return {out[0], out[1]};
}

Tensor polyder(Operand operand, base::Int times) {
  const PublicCall call("polyder", operand.at());
  Expr p = fractions_of("p", operand, times);
  return one_program("polyder", [&] {
    const int64_t n = p.tensor().size(), left = std::max<int64_t>(n - times, 0);
    auto derive = [&](Tensor i, Tensor c) {
      return (Expr(c) * powers(p, left, n - 1 - Expr(i))).tensor();
    };
    return fori_loop(0, std::min<int64_t>(times, n), derive, slice_in_dim(p.operand(), 0, left));
  });
}

Tensor polyint(Operand operand, base::Int times) {
  const PublicCall call("polyint", operand.at());
  Expr p = fractions_of("p", operand, times);
  return one_program("polyint", [&] {
    const int64_t n = p.tensor().size();
    auto integrate = [&](Tensor i, Tensor c) {
      return (Expr(c) / powers(p, n, n + Expr(i))).tensor();
    };
    return shifted(fori_loop(0, int64_t{times}, integrate, p.tensor()), 0, times).tensor();
  });
}

Tensor poly(Operand operand) {
  const PublicCall call("poly", operand.at());
  Expr r = fractions_of("roots", operand);
  return one_program("poly", [&] {
    const int64_t n = r.tensor().size();
    Expr out(ones({1}, r.dtype()));
    for (int64_t i = 0; i < n; ++i)
      out = shifted(out, 0, 1) - shifted(out * coefficient(r, i), 1, 0);
    return out.tensor();
  });
}

}  // namespace heddle
