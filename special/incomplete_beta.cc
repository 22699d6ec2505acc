// I_x(a, b) by its continued fraction, which converges fast left of (a + 1) / (a + b + 2); right of
// it the fraction of I_(1-x)(b, a) is taken.
#include <cmath>

#include "heddle/scan/loops.h"
#include "heddle/special/gamma.h"
#include "heddle/special/internal/lanczos.h"

namespace heddle::special {
namespace {

using special_internal::any_of;
using special_internal::evaluate;
using special_internal::lgamma_of;
using trace_internal::Located;
using Arguments = std::span<const Located>;

// The n-th partial numerator, n = 1, 2, ..: 1, and from then on DLMF 8.17.23.
Located numerator(const Located& step, const Located& a, const Located& b, const Located& x) {
  Located n = step.astype(a.dtype());
  Located m = floor((n - 1.0) / 2.0);
  Located even = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
  // Of m = 0, without the quotient a / a.
  Located first = -(a + b) * x / (a + 1.0);
  Located odd = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
  Located is_even = (n - 2.0 * floor(n / 2.0)) == 0.0;
  Located zero = a.like(0.0);  // scalar conditions, stretched to a's shape
  Located later = where(zero + m == 0.0, first, even);
  return where(zero + n == 1.0, 1.0, where((zero == 0.0) & is_even, later, odd));
}

struct LentzState {
  Tensor active;  // pred[]
  Tensor step;    // s32[]
  Tensor c, d;    // quotients of successive numerators and denominators
  Tensor value;
  static constexpr auto kFields = fields(
      field("active", &LentzState::active), field("step", &LentzState::step),
      field("c", &LentzState::c), field("d", &LentzState::d), field("value", &LentzState::value));
};

// Lentz's method, with Thompson and Barnett's `small` in place of zeros; all denominators are 1.
// source: Press et al., Numerical Recipes, section 5.2
Located continued_fraction(const Located& a, const Located& b, const Located& x) {
  SourceLocation at = a.at();
  double small = float_limits(a.dtype()).epsilon_below;
  int most = a.dtype() == f64 ? 600 : 200;
  auto running = [&](const LentzState& s) {
    return ((Located(s.step, at) < most) & Located(s.active, at)).tensor();
  };
  auto not_zero = [&](const Located& t) { return where(abs(t) < small, small, t); };
  auto advance = [&](const LentzState& s) {
    Located step(s.step, at);
    Located p = numerator(step, a, b, x);
    Located c = not_zero(1.0 + p / Located(s.c, at));
    Located d = 1.0 / not_zero(1.0 + p * Located(s.d, at));
    Located change = c * d;
    return LentzState{any_of(abs(change - 1.0) >= small).tensor(), (step + 1).tensor(), c.tensor(),
                      d.tensor(), (Located(s.value, at) * change).tensor()};
  };
  Tensor tiny = a.like(small).tensor();
  LentzState start{scalar(true, at), scalar(1, at), tiny, a.like(0.0).tensor(), tiny};
  return a.with(while_loop(running, advance, start, at).value);
}

// x^a (1 - x)^b / (a beta(a, b)). Next to a = 0, a gamma(a) is 1.
Located prefactor(const Located& a, const Located& b, const Located& x) {
  Located rest = lgamma_of(b) - lgamma_of(a + b);
  Located log_right = log1p(-x) * b;
  Located near_zero = exp(log_right - rest);
  Located regular = exp(log(x) * a + log_right - (lgamma_of(a) + rest)) / a;
  return where(a < 2.0 * float_limits(a.dtype()).smallest_normal, near_zero, regular);
}

Located betainc_of(const Located& a, const Located& b, const Located& x) {
  Located direct = x < (a + 1.0) / (a + b + 2.0);
  Located p = where(direct, a, b);
  Located q = where(direct, b, a);
  Located y = where(direct, x, 1.0 - x);
  Located value = continued_fraction(p, q, y) * prefactor(p, q, y);
  value = where(direct, value, 1.0 - value);

  // All of the distribution lies at 0, or at 1.
  Located at_zero = (a == 0.0) | (b == INFINITY);
  Located at_one = (b == 0.0) | (a == INFINITY);
  value = where((at_one & (x != 1.0)) | (at_zero & (x == 0.0)), 0.0, value);
  value = where((at_zero & (x != 0.0)) | (at_one & (x == 1.0)), 1.0, value);
  Located outside = (a < 0.0) | (b < 0.0) | (x < 0.0) | (x > 1.0) | (at_zero & at_one);
  return where(outside | is_nan(a) | is_nan(b) | is_nan(x), NAN, value);
}

}  // namespace

Tensor betainc(Operand a, Operand b, Operand x) {
  return evaluate("betainc", {a, b, x}, [](Arguments v) { return betainc_of(v[0], v[1], v[2]); });
}

}  // namespace heddle::special
