#include "heddle/special/orthogonal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "heddle/scan/loops.h"
#include "heddle/scan/own_rule.h"
#include "heddle/special/internal/formula.h"
#include "heddle/trace/axes.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tree.h"

namespace heddle::special {
namespace {

// The rows [v + 1, ..] of J, with the row of index k set to `values`.
class Rows {
 public:
  Rows(const Expr& z, int64_t v) {
    Dimensions shape = z.dimensions();
    shape.insert(shape.begin(), v + 1);
    index_ = iota(s32, shape, 0);
    zero_ = zeros(shape, z.dtype());
  }
  [[nodiscard]] const Tensor& zero() const { return zero_; }
  [[nodiscard]] Expr set(const Expr& rows, const Expr& k, const Expr& values) const {
    return where(Expr(index_) == k, values, rows);
  }
  [[nodiscard]] Expr is_odd() const { return Expr(index_) % 2 == 1; }
  [[nodiscard]] Expr is_first() const { return Expr(index_) == 0; }

 private:
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

// For 0 < z <= limit. It scales growing values to stay below a bound, which tiny z would pass in a
// few steps.
Expr recurred_down(const Expr& z, const Rows& rows, double limit) {
  const int64_t first = first_order(limit);
  const double bound = z.dtype() == f64 ? 1e100 : 1e10;
  auto step = [&](const Tensor& i, const Downward& s) {
    const Expr k = first - Expr(i);
    const Expr raw = 2 * (k + 1).astype(z.dtype()) * Expr(s.here) / z - Expr(s.above);
    const Expr scale = where(abs(raw) > bound, 1 / abs(raw), 1);
    const Expr here = raw * scale, sum = Expr(s.sum) * scale;
    const Expr share = where(k == 0, here, where(k % 2 == 0, 2 * here, z.like(0)));
    const Expr saved = Expr(s.rows) * scale;
    return Downward{(Expr(s.here) * scale).tensor(), here.tensor(), (sum + share).tensor(),
                    rows.set(saved, k, here).tensor()};
  };
  const Tensor zero = z.like(0).tensor();
  const Downward end = fori_loop(0, static_cast<int32_t>(first + 1), step,
                                 Downward{zero, z.like(1e-16).tensor(), zero, rows.zero()});
  return Expr(end.rows) / Expr(end.sum);
}

// sqrt(2 / (pi z)) (P cos(w) - Q sin(w)), w = z - order pi / 2 - pi / 4, for z >= 25.
Expr hankel(const Expr& z, int order) {
  double even[13], odd[13];  // coefficients of P and Q in 1 / z^2, the highest first
  double a = 1;
  for (int k = 0; k < 26; ++k) {
    (k % 2 == 0 ? even : odd)[12 - k / 2] = k / 2 % 2 == 0 ? a : -a;
    a *= (4.0 * order * order - (2 * k + 1) * (2 * k + 1)) / (8 * (k + 1));
  }
  const Expr inverse = 1 / z, v = square(inverse);
  const Expr p = polynomial(v, even), q = inverse * polynomial(v, odd);
  const Expr s = sin(z), c = cos(z);
  const Expr wave = order == 0 ? p * (c + s) - q * (s - c) : p * (s - c) + q * (c + s);
  return wave / sqrt(z * pi);
}

struct Upward {
  Tensor below, here;
  Tensor rows;
  static constexpr auto kFields = fields(
      field("below", &Upward::below), field("here", &Upward::here), field("rows", &Upward::rows));
};

// For z >= 2 v and 25.
Expr recurred_up(const Expr& z, const Rows& rows, int64_t v) {
  const Expr zeroth = hankel(z, 0), first = hankel(z, 1);
  auto step = [&](const Tensor& i, const Upward& s) {
    const Expr k = Expr(i) + 1, here = Expr(s.here);
    const Expr next = 2 * k.astype(z.dtype()) / z * here - Expr(s.below);
    return Upward{s.here, next.tensor(), rows.set(Expr(s.rows), k, here).tensor()};
  };
  const Expr start = rows.set(Expr(rows.zero()), Expr(scalar(0)), zeroth);
  const Upward end = fori_loop(0, static_cast<int32_t>(v), step,
                               Upward{zeroth.tensor(), first.tensor(), start.tensor()});
  return Expr(end.rows);
}

Expr bessel_rows(const Expr& z, int64_t v) {
  const Rows rows(z, v);
  const double limit = std::max(25.0, 2.0 * static_cast<double>(v));
  const double tiny = z.dtype() == f64 ? 1e-150 : 1e-18;
  const Expr size = mirrored(z), low = at_most(at_least(size, tiny), limit);
  // Below `tiny` the orders from 1 on are proportional to z, or 0.
  const Expr share = where(size < tiny, size / tiny, 1);
  const Expr near = recurred_down(low, rows, limit) * where(rows.is_first(), 1, share);
  const Expr angle = where(size == INFINITY, limit, at_least(size, limit));
  const Expr far = where(size == INFINITY, 0, recurred_up(angle, rows, v));
  const Expr value = where(size <= limit, near, far);
  return where(is_nan(z), z, where(rows.is_odd() & (z < 0), -value, value));
}

// J_k' = (J_(k - 1) - J_(k + 1)) / 2 of the rows [0, n) of rows [0, n], where J_(-1) = -J_1.
Expr bessel_slopes(const Tensor& rows) {
  const int64_t n = rows.dim(0) - 1;
  const Tensor above = slice_in_dim(rows, 1, n + 1);
  const Tensor below = concat({-slice_in_dim(rows, 1, 2), slice_in_dim(rows, 0, n - 1)}, 0);
  return 0.5 * (Expr(below) - Expr(above));
}

// The rows, whose first `ruled` derivatives are made of more rows: near 0 those of the recurrence
// are differences of great numbers.
Tensor bessel_with_slopes(const Tensor& z, int64_t v, int ruled) {
  if (ruled == 0) return bessel_rows(z, v).tensor();
  const auto value = [&](std::span<const Tensor> x) { return bessel_rows(x[0], v).tensor(); };
  const auto rule = [&](std::span<const Tensor> x, const Tensor&, std::span<const Tensor> dx) {
    return (bessel_slopes(bessel_with_slopes(x[0], v + 1, ruled - 1)) * Expr(dx[0])).tensor();
  };
  return scan_internal::with_rule("special::bessel_jn", {z}, value, rule);
}

// The integers as floats of the angles' dtype.
Expr degrees(std::string_view name, const Operand& x, DType dtype) {
  const Tensor whole = as_tensor(x);
  if (!is_integer(whole.dtype()))
    trace_internal::refuse(name, " is ", whole.shape(),
                           "; it must be of integers, cast it with astype(s32)");
  return Expr(whole).astype(dtype);
}

struct Legendre {
  Tensor below, here;
  static constexpr auto kFields =
      fields(field("below", &Legendre::below), field("here", &Legendre::here));
};

// The normalised associated Legendre function of cos(theta), for 0 <= m.
Expr legendre(const Expr& n, const Expr& m, const Expr& theta, int64_t n_max) {
  const Expr x = cos(theta), y = sin(theta);
  auto step = [&](const Tensor& i, const Legendre& s) {
    const Expr l = Expr(i).astype(x.dtype()) + 1, here = Expr(s.here);
    const Expr diagonal = -sqrt(1 + 0.5 / l) * y * here;
    const Expr grown = maximum(square(l) - square(m), 1), last = square(l - 1);
    const Expr less = sqrt(maximum(last - square(m), 0) / maximum(4 * last - 1, 1));
    const Expr up = sqrt((4 * square(l) - 1) / grown) * (x * here - less * Expr(s.below));
    const Expr next = where(l <= m, diagonal, where(l <= n, up, here));
    return Legendre{where(l <= m, 0, where(l <= n, here, Expr(s.below))).tensor(), next.tensor()};
  };
  const Legendre start{x.like(0).tensor(), x.like(std::sqrt(0.25 / pi)).tensor()};
  return Expr(fori_loop(0, static_cast<int32_t>(n_max), step, start).here);
}

// The real and the imaginary part.
std::vector<Expr> harmonic_of(const Expr& degree, const Expr& m, const Expr& theta, const Expr& phi,
                              int64_t n_max) {
  const Expr n = minimum(degree, static_cast<double>(n_max)), order = abs(m);
  const Expr inside = order <= n;
  const Expr size = where(inside, legendre(n, where(inside, order, 0), theta, n_max), 0);
  const Expr signed_size = where((m < 0) & (order % 2 == 1), -size, size);
  return {signed_size * cos(order * phi), signed_size * sin(m * phi)};
}

}  // namespace

Tensor bessel_jn(Operand z, base::Int v) {
  const PublicCall call("special::bessel_jn", z.at());
  if (v < 0) trace_internal::refuse("v is ", v, "; it must be 0 or more");
  return evaluate("special::bessel_jn", {{"z", z}},
                  [&](Arguments a) { return Expr(bessel_with_slopes(a[0].tensor(), v, 2)); });
}

Tensor sph_harm_y(Operand n, Operand m, Operand theta, Operand phi, base::Int n_max) {
  const PublicCall call("special::sph_harm_y", n.at());
  if (n_max < 0) trace_internal::refuse("n_max is ", n_max, "; it must be 0 or more");
  return trace_internal::one_program("special::sph_harm_y", [&] {
    // The integers stay integers: bf16, a dtype of the angles, would round them.
    std::vector<Tensor> angles =
        evaluate_all("special::sph_harm_y", {{"theta", theta}, {"phi", phi}}, [](Arguments a) {
          return std::vector<Expr>{a[0], a[1]};
        });
    const DType dtype = angles[0].dtype() == f64 ? f64 : f32;
    const Expr degree = degrees("n", n, dtype), order = degrees("m", m, dtype);
    std::vector<Tensor> parts =
        evaluate_all("special::sph_harm_y",
                     {{"n", degree.operand()},
                      {"m", order.operand()},
                      {"theta", angles[0].astype(dtype)},
                      {"phi", angles[1].astype(dtype)}},
                     [&](Arguments a) { return harmonic_of(a[0], a[1], a[2], a[3], n_max); });
    return complex(parts[0], parts[1]);
  });
}

}  // namespace heddle::special
