#include "heddle/special/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heddle/scan/loops.h"
#include "heddle/special/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/error.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tree.h"

namespace heddle::special {
namespace {

using special_internal::evaluate;
using special_internal::evaluate_all;
using special_internal::polynomial;
using trace_internal::Located;
using trace_internal::PublicCall;
using Arguments = std::span<const Located>;
using std::numbers::pi;

// The rows [v + 1, ..] of J, with the row of index k set to `values`.
class Rows {
 public:
  Rows(const Located& z, int64_t v) : at_(z.at()) {
    Dimensions shape = z.dimensions();
    shape.insert(shape.begin(), v + 1);
    index_ = iota(s32, shape, 0, at_);
    zero_ = zeros(shape, z.dtype(), at_);
  }
  [[nodiscard]] const Tensor& zero() const { return zero_; }
  [[nodiscard]] Located set(const Located& rows, const Located& k, const Located& values) const {
    return where(Located(index_, at_) == k, values, rows);
  }
  [[nodiscard]] Located is_odd() const { return Located(index_, at_) % 2 == 1; }
  [[nodiscard]] Located is_first() const { return Located(index_, at_) == 0; }

 private:
  SourceLocation at_;
  Tensor index_, zero_;
};

struct Downward {
  Tensor above, here;  // two neighbours, up to a common factor
  Tensor sum;          // 2 (J_k + J_(k+2) + ..) of the even orders so far, where J_0 counts once
  Tensor rows;
  static constexpr auto kFields =
      fields(field("above", &Downward::above), field("here", &Downward::here),
             field("sum", &Downward::sum), field("rows", &Downward::rows));
};

// An even order whose J is below 1e-20 up to z: (z / 2)^n / n! bounds it.
int64_t first_order(double z) {
  int64_t n = 2;
  while (static_cast<double>(n) * std::log(z / 2) - std::lgamma(static_cast<double>(n) + 1) >
         -20 * std::numbers::ln10)
    n += 2;
  return n;
}

// For 0 < z <= limit. What grows is kept below a bound, which tiny z would pass in a few steps.
Located recurred_down(const Located& z, const Rows& rows, double limit) {
  const int64_t first = first_order(limit);
  const double bound = z.dtype() == f64 ? 1e100 : 1e10;
  auto step = [&](const Tensor& i, const Downward& s) {
    const Located k = first - z.with(i);
    const Located raw = 2 * (k + 1).astype(z.dtype()) * z.with(s.here) / z - z.with(s.above);
    const Located scale = where(abs(raw) > bound, 1 / abs(raw), 1);
    const Located here = raw * scale, sum = z.with(s.sum) * scale;
    const Located share = where(k == 0, here, where(k % 2 == 0, 2 * here, z.like(0)));
    const Located saved = z.with(s.rows) * scale;
    return Downward{(z.with(s.here) * scale).tensor(), here.tensor(), (sum + share).tensor(),
                    rows.set(saved, k, here).tensor()};
  };
  const Tensor zero = z.like(0).tensor();
  const Downward end = fori_loop({0, z.at()}, {static_cast<int32_t>(first + 1), z.at()}, step,
                                 Downward{zero, z.like(1e-16).tensor(), zero, rows.zero()}, z.at());
  return z.with(end.rows) / z.with(end.sum);
}

// sqrt(2 / (pi z)) (P cos(w) - Q sin(w)), w = z - order pi / 2 - pi / 4, for z >= 25.
Located hankel(const Located& z, int order) {
  double even[13], odd[13];  // of P and Q, the highest first, in 1 / z^2
  double a = 1;
  for (int k = 0; k < 26; ++k) {
    (k % 2 == 0 ? even : odd)[12 - k / 2] = k / 2 % 2 == 0 ? a : -a;
    a *= (4.0 * order * order - (2 * k + 1) * (2 * k + 1)) / (8 * (k + 1));
  }
  const Located inverse = 1 / z, v = square(inverse);
  const Located p = polynomial(v, even), q = inverse * polynomial(v, odd);
  const Located s = sin(z), c = cos(z);
  const Located wave = order == 0 ? p * (c + s) - q * (s - c) : p * (s - c) + q * (c + s);
  return wave / sqrt(z * pi);
}

struct Upward {
  Tensor below, here;
  Tensor rows;
  static constexpr auto kFields = fields(
      field("below", &Upward::below), field("here", &Upward::here), field("rows", &Upward::rows));
};

// For z >= 2 v and 25.
Located recurred_up(const Located& z, const Rows& rows, int64_t v) {
  const Located zeroth = hankel(z, 0), first = hankel(z, 1);
  auto step = [&](const Tensor& i, const Upward& s) {
    const Located k = z.with(i) + 1, here = z.with(s.here);
    const Located next = 2 * k.astype(z.dtype()) / z * here - z.with(s.below);
    return Upward{s.here, next.tensor(), rows.set(z.with(s.rows), k, here).tensor()};
  };
  const Located start = rows.set(z.with(rows.zero()), z.with(scalar(0, z.at())), zeroth);
  const Upward end = fori_loop({0, z.at()}, {static_cast<int32_t>(v), z.at()}, step,
                               Upward{zeroth.tensor(), first.tensor(), start.tensor()}, z.at());
  return z.with(end.rows);
}

Located bessel_rows(const Located& z, int64_t v) {
  const Rows rows(z, v);
  const double limit = std::max(25.0, 2.0 * static_cast<double>(v));
  const double tiny = z.dtype() == f64 ? 1e-150 : 1e-18;
  const Located size = abs(z), low = minimum(maximum(size, tiny), limit);
  // Below `tiny` the orders from 1 on are proportional to z, or nothing.
  const Located near =
      recurred_down(low, rows, limit) * where(rows.is_first(), 1, minimum(size / tiny, z.like(1)));
  const Located angle = where(size == INFINITY, limit, maximum(size, limit));
  const Located far = where(size == INFINITY, 0, recurred_up(angle, rows, v));
  const Located value = where(size <= limit, near, far);
  return where(is_nan(z), z, where(rows.is_odd() & (z < 0), -value, value));
}

// The integers as floats of the angles' dtype.
Located degrees(std::string_view name, const Operand& x, DType dtype) {
  const Tensor whole = as_tensor(x);
  if (!is_integer(whole.dtype()))
    throw Error(
        trace_internal::invalid_argument("special::sph_harm_y", ": ", name, " is ", whole.shape(),
                                         "; it must be of integers, cast it with astype(s32)"),
        x.at());
  return Located(whole, x.at()).astype(dtype);
}

struct Legendre {
  Tensor below, here;
  static constexpr auto kFields =
      fields(field("below", &Legendre::below), field("here", &Legendre::here));
};

// The normalised associated Legendre function of cos(theta), for 0 <= m.
Located legendre(const Located& n, const Located& m, const Located& theta, int64_t n_max) {
  const Located x = cos(theta), y = sin(theta);
  auto step = [&](const Tensor& i, const Legendre& s) {
    const Located l = x.with(i).astype(x.dtype()) + 1, here = x.with(s.here);
    const Located diagonal = -sqrt(1 + 0.5 / l) * y * here;
    const Located grown = maximum(square(l) - square(m), 1), last = square(l - 1);
    const Located less = sqrt(maximum(last - square(m), 0) / maximum(4 * last - 1, 1));
    const Located up = sqrt((4 * square(l) - 1) / grown) * (x * here - less * x.with(s.below));
    const Located next = where(l <= m, diagonal, where(l <= n, up, here));
    return Legendre{where(l <= m, 0, where(l <= n, here, x.with(s.below))).tensor(), next.tensor()};
  };
  const Legendre start{x.like(0).tensor(), x.like(std::sqrt(0.25 / pi)).tensor()};
  return x.with(
      fori_loop({0, x.at()}, {static_cast<int32_t>(n_max), x.at()}, step, start, x.at()).here);
}

// The real and the imaginary part.
std::vector<Located> harmonic_of(const Located& degree, const Located& m, const Located& theta,
                                 const Located& phi, int64_t n_max) {
  const Located n = minimum(degree, static_cast<double>(n_max)), order = abs(m);
  const Located inside = order <= n;
  const Located size = where(inside, legendre(n, where(inside, order, 0), theta, n_max), 0);
  const Located signed_size = where((m < 0) & (order % 2 == 1), -size, size);
  return {signed_size * cos(order * phi), signed_size * sin(m * phi)};
}

}  // namespace

Tensor bessel_jn(Operand z, base::Int v) {
  const PublicCall call("special::bessel_jn", z.at());
  if (v < 0)
    throw Error(trace_internal::invalid_argument("special::bessel_jn", ": v is ", v,
                                                 "; it must be 0 or more"),
                z.at());
  return evaluate("special::bessel_jn", {z}, [&](Arguments a) { return bessel_rows(a[0], v); });
}

Tensor sph_harm_y(Operand n, Operand m, Operand theta, Operand phi, base::Int n_max) {
  const PublicCall call("special::sph_harm_y", n.at());
  const SourceLocation at = theta.at();
  if (n_max < 0)
    throw Error(trace_internal::invalid_argument("special::sph_harm_y", ": n_max is ", n_max,
                                                 "; it must be 0 or more"),
                at);
  return trace_internal::one_program("special::sph_harm_y", at, [&] {
    // The integers have no dtype of the angles, which bf16 would round.
    std::vector<Tensor> angles = evaluate_all("special::sph_harm_y", {theta, phi}, [](Arguments a) {
      return std::vector<Located>{a[0], a[1]};
    });
    const DType dtype = angles[0].dtype() == f64 ? f64 : f32;
    const Located degree = degrees("n", n, dtype), order = degrees("m", m, dtype);
    std::vector<Tensor> parts =
        evaluate_all("special::sph_harm_y",
                     {degree.operand(),
                      order.operand(),
                      {angles[0].astype(dtype), at},
                      {angles[1].astype(dtype), at}},
                     [&](Arguments a) { return harmonic_of(a[0], a[1], a[2], a[3], n_max); });
    return complex({parts[0], at}, {parts[1], at});
  });
}

}  // namespace heddle::special
