#include "heddle/trace/polynomials.h"

#include <algorithm>

#include "heddle/trace/axes.h"
#include "heddle/trace/dtypes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/vectors.h"

namespace heddle {
namespace {

using trace_internal::in_program;
using trace_internal::Located;
using trace_internal::one_program;
using trace_internal::PublicCall;
using trace_internal::vector_of;

Located fractions_of(std::string_view op, std::string_view name, const Operand& x) {
  Located out = vector_of(op, name, x);
  if (is_floating(out.dtype()) || is_complex(out.dtype())) return out;
  throw Error(trace_internal::invalid_argument(
                  op, ": ", name, " is ", out.tensor().shape(),
                  "; it must be of floats or complex numbers, cast it with astype(f32)"),
              x.at());
}

void require_same(std::string_view op, const Tensor& p, const Tensor& q, SourceLocation at) {
  if (p.dtype() == q.dtype()) return;
  throw Error(trace_internal::invalid_argument(op, ": q is ", q.shape(), "; p is ", p.shape(),
                                               ", cast q with astype(", p.dtype(), ")"),
              at);
}

// The coefficient of number i, a scalar.
Located coefficient(const Located& p, int64_t i) {
  return p.with(reshape({slice_in_dim(p.operand(), i, i + 1), p.at()}, {}));
}

// So many zeros before and behind.
Located shifted(const Located& p, int64_t before, int64_t behind) {
  return p.with(pad(p.operand(), {0, p.at()}, {{before, behind}}));
}

// The same powers in the same places.
template <class Fn>
Tensor aligned(std::string_view op, const Operand& left, const Operand& right, Fn&& fn) {
  const PublicCall call(op, left.at());
  SourceLocation at = left.at();
  Located p = vector_of(op, "p", left), q = vector_of(op, "q", {as_tensor(right), at});
  require_same(op, p.tensor(), q.tensor(), at);
  return one_program(op, at, [&] {
    const int64_t n = std::max(p.tensor().size(), q.tensor().size());
    return fn(shifted(p, n - p.tensor().size(), 0), shifted(q, n - q.tensor().size(), 0)).tensor();
  });
}

// Long division: a coefficient of the quotient at a time. The lengths are fixed and short.
std::vector<Tensor> divided(Located p, const Located& q) {
  const int64_t n = p.tensor().size(), m = q.tensor().size();
  if (n < m) return {zeros({1}, p.dtype(), p.at()), p.tensor()};
  std::vector<Tensor> quotient;
  for (int64_t i = 0; i + m <= n; ++i) {
    Located factor = coefficient(p, i) / coefficient(q, 0);
    quotient.push_back(factor.tensor());
    p = p - shifted(q * factor, i, n - m - i);
  }
  Tensor rest = m == 1 ? zeros({1}, p.dtype(), p.at()) : slice_in_dim(p.operand(), n - m + 1, n);
  return {stack(quotient, 0, p.at()), rest};
}

// The exponents that stand beside coefficients of p, all but the last `skip`.
Located exponents(const Located& p, int64_t skip) {
  const int64_t n = p.tensor().size();
  const DType real = p.dtype() == c64 ? f32 : p.dtype() == c128 ? f64 : p.dtype();
  return (static_cast<double>(n - 1) - p.with(iota(real, {n - skip}, 0, p.at()))).astype(p.dtype());
}

}  // namespace

Tensor polyval(Operand coefficients, Operand where) {
  const PublicCall call("polyval", coefficients.at());
  SourceLocation at = coefficients.at();
  Located p = vector_of("polyval", "p", coefficients);
  const Tensor points = trace_internal::like("polyval", "x", where, p.dtype(), at);
  return one_program("polyval", at, [&] {
    Located x(points, at), out = x.like(0);
    const int64_t n = p.tensor().size();
    for (int64_t i = 0; i < n; ++i)
      out = i == 0 ? x.like(0) + coefficient(p, i) : out * x + coefficient(p, i);
    return out.tensor();
  });
}

Tensor polyadd(Operand p, Operand q) {
  return aligned("polyadd", p, q, [](const Located& a, const Located& b) { return a + b; });
}

Tensor polysub(Operand p, Operand q) {
  return aligned("polysub", p, q, [](const Located& a, const Located& b) { return a - b; });
}

Tensor polymul(Operand left, Operand right) {
  const PublicCall call("polymul", left.at());
  SourceLocation at = left.at();
  Located p = vector_of("polymul", "p", left);
  Located q = vector_of("polymul", "q", {as_tensor(right), at});
  require_same("polymul", p.tensor(), q.tensor(), at);
  const int64_t n = p.tensor().size(), m = q.tensor().size();
  if (n == 0 || m == 0)
    throw Error(
        trace_internal::invalid_argument("polymul", ": operands are ", p.tensor().shape(), " and ",
                                         q.tensor().shape(), "; they must have elements"),
        at);
  return one_program("polymul", at, [&] {
    const Located& longer = n < m ? q : p;
    const Located& shorter = n < m ? p : q;
    const int64_t count = std::min(n, m);
    Located out = shifted(longer * coefficient(shorter, 0), 0, count - 1);
    for (int64_t i = 1; i < count; ++i)
      out = out + shifted(longer * coefficient(shorter, i), i, count - 1 - i);
    return out.tensor();
  });
}

Quotient polydiv(Operand left, Operand right) {
  const PublicCall call("polydiv", left.at());
  SourceLocation at = left.at();
  Located p = fractions_of("polydiv", "p", left);
  Located q = fractions_of("polydiv", "q", {as_tensor(right), at});
  require_same("polydiv", p.tensor(), q.tensor(), at);
  if (q.tensor().size() == 0 || p.tensor().size() == 0)
    throw Error(
        trace_internal::invalid_argument("polydiv", ": operands are ", p.tensor().shape(), " and ",
                                         q.tensor().shape(), "; they must have elements"),
        at);
  std::vector<Tensor> out = in_program("polydiv", at, [&] { return divided(p, q); });
  return {out[0], out[1]};
}

Tensor polyder(Operand operand, base::Int times) {
  const PublicCall call("polyder", operand.at());
  Located p = fractions_of("polyder", "p", operand);
  if (times < 0)
    throw Error(
        trace_internal::invalid_argument("polyder", ": times is ", times, "; it must be 0 or more"),
        p.at());
  return one_program("polyder", p.at(), [&] {
    Located out = p;
    for (int64_t i = 0; i < times && out.tensor().size() > 0; ++i) {
      const int64_t n = out.tensor().size();
      out = out.with(slice_in_dim(out.operand(), 0, n - 1)) * exponents(out, 1);
    }
    return out.tensor();
  });
}

Tensor polyint(Operand operand, base::Int times) {
  const PublicCall call("polyint", operand.at());
  Located p = fractions_of("polyint", "p", operand);
  if (times < 0)
    throw Error(
        trace_internal::invalid_argument("polyint", ": times is ", times, "; it must be 0 or more"),
        p.at());
  return one_program("polyint", p.at(), [&] {
    Located out = p;
    for (int64_t i = 0; i < times; ++i) out = shifted(out / (exponents(out, 0) + 1), 0, 1);
    return out.tensor();
  });
}

Tensor poly(Operand operand) {
  const PublicCall call("poly", operand.at());
  Located r = fractions_of("poly", "roots", operand);
  return one_program("poly", r.at(), [&] {
    const int64_t n = r.tensor().size();
    Located out(ones({1}, r.dtype(), r.at()), r.at());
    for (int64_t i = 0; i < n; ++i)
      out = shifted(out, 0, 1) - shifted(out * coefficient(r, i), 1, 0);
    return out.tensor();
  });
}

}  // namespace heddle
