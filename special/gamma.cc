#include "heddle/special/gamma.h"

#include <array>
#include <cmath>
#include <numbers>

#include "heddle/special/internal/factors.h"
#include "heddle/special/internal/lanczos.h"
#include "heddle/trace/public_call.h"

namespace heddle::special {
namespace {

using special_internal::digamma_of;
using special_internal::gamma_of;
using special_internal::lgamma_of;
using special_internal::log_beta;
using special_internal::zeta_of;

// The sign of gamma: between -n and -n + 1 it is that of (-1)^n.
Expr gammasgn_of(const Expr& x) {
  Expr whole = floor(x);
  Expr odd = (whole % 2.0) != 0.0;
  Expr minus_zero = (x == 0.0) & (1.0 / x < 0.0);
  Expr negative = ((x < 0.0) & odd) | minus_zero;
  Expr undefined = ((x < 0.0) & (x == whole)) | is_nan(x);
  return where(undefined, NAN, where(negative, -1.0, x.like(1.0)));
}

Expr betaln_of(const Expr& a, const Expr& b) {
  Expr low = minimum(a, b);
  Expr elsewhere = lgamma_of(a) + lgamma_of(b) - lgamma_of(a + b);
  Expr value = where(low > 0.0, log_beta(a, b), elsewhere);
  return where((low > 0.0) & (maximum(a, b) == INFINITY), -INFINITY, value);
}

// (-1)^(n+1) n! zeta(n + 1, x).
Expr polygamma_of(const Expr& n, const Expr& x) {
  Expr sign = where((n % 2.0) == 0.0, -1.0, n.like(1.0));
  Expr factorial = gamma_of(n + 1.0);
  Expr value = where(n == 0.0, digamma_of(x), sign * factorial * zeta_of(n + 1.0, x));
  return where((n != floor(n)) | (n < 0.0), NAN, value);
}

}  // namespace

Tensor lgamma(Operand x) { return evaluate("special::lgamma", {"x", x}, lgamma_of); }

Tensor gammaln(Operand x) {
  const trace_internal::PublicCall call("special::gammaln", x.at());
  return lgamma(x);
}

Tensor gammasgn(Operand x) { return evaluate("special::gammasgn", {"x", x}, gammasgn_of); }

Tensor gamma(Operand x) { return evaluate("special::gamma", {"x", x}, gamma_of); }

Tensor betaln(Operand a, Operand b) {
  return evaluate("special::betaln", {"a", a}, {"b", b}, betaln_of);
}

Tensor digamma(Operand x) { return evaluate("special::digamma", {"x", x}, digamma_of); }

Tensor polygamma(Operand n, Operand x) {
  return evaluate("special::polygamma", {"n", n}, {"x", x}, polygamma_of);
}

Tensor zeta(Operand x, Operand q) { return evaluate("special::zeta", {"x", x}, {"q", q}, zeta_of); }

}  // namespace heddle::special
