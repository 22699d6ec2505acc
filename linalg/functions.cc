#include "heddle/linalg/functions.h"

#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "heddle/linalg/internal/matrices.h"
#include "heddle/linalg/solving.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/ops/elementwise/extremes.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tree.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

Expr power_of(const Expr& a, uint64_t exponent) {
  if (exponent == 0) return identity(a, batch_of(a), rows(a), rows(a));
  Expr square = a;
  std::optional<Expr> out;
  for (uint64_t left = exponent;; square = product(square, square)) {
    if (left % 2 == 1) out = out ? product(*out, square) : square;
    left /= 2;
    if (left == 0) return *out;
  }
}

// A Pade approximant of exp: p(a) / p(-a). It has the coefficients, the lowest power first, and the
// greatest norm of a for which it is good enough.
struct Pade {
  std::span<const double> coefficients;
  double norm;
};
constexpr std::array<double, 8> kDegree7 = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
constexpr std::array<double, 14> kDegree13 = {64764752532480000,
                                              32382376266240000,
                                              7771770303897600,
                                              1187353796428800,
                                              129060195264000,
                                              10559470521600,
                                              670442572800,
                                              33522128640,
                                              1323241920,
                                              40840800,
                                              960960,
                                              16380,
                                              182,
                                              1};
Pade pade_for(DType dtype) {
  if (real_dtype(dtype) == f32) return {kDegree7, 3.925724783138660};
  return {kDegree13, 5.371920351148152};
}

// c[first] + c[first + 2] a^2 + c[first + 4] a^4 + c[first + 6] a^6, as far as c goes; powers = {1,
// a^2, a^4, a^6}.
Expr every_other(std::span<const double> c, size_t first, std::span<const Expr> powers) {
  Expr out = powers[0] * c[first];
  for (size_t i = 1; i < powers.size() && first + 2 * i < c.size(); ++i)
    out = out + powers[i] * c[first + 2 * i];
  return out;
}
// The even (first = 0) or odd powers of p; the odd ones are divided by a.
Expr half_of(std::span<const double> c, size_t first, std::span<const Expr> powers) {
  const Expr low = every_other(c, first, powers);
  if (c.size() <= 8) return low;
  Expr high = powers[1] * c[first + 8];  // times a^6
  for (size_t i = 2; i < 4 && first + 6 + 2 * i < c.size(); ++i)
    high = high + powers[i] * c[first + 6 + 2 * i];
  return low + product(powers[3], high);
}

Expr approximant(const Expr& a, std::span<const double> c) {
  const Expr a2 = product(a, a), a4 = product(a2, a2), a6 = product(a4, a2);
  const std::array<Expr, 4> powers = {identity(a, batch_of(a), rows(a), rows(a)), a2, a4, a6};
  const Expr odd = product(a, half_of(c, 1, powers)), even = half_of(c, 0, powers);
  return solve((even - odd).operand(), (even + odd).operand());
}

// The greatest sum down a column: [..].
Expr norm_1(const Expr& a) {
  const Expr sums = sum(abs(a).operand(), {.axes = {-2}});
  return trace_internal::max_or_least(sums.operand(), {.axes = {-1}});
}

struct Squaring {
  Tensor done;   // s32[]: squarings of all matrices
  Tensor power;  // [.., n, n]
  static constexpr auto kFields =
      fields(field("done", &Squaring::done), field("power", &Squaring::power));
};

// Each matrix squared as often as `times`, s32[..], says, and at most `bound` times, which gives
// reverse mode.
Expr squared(const Expr& r, const Expr& times, int64_t bound) {
  const Expr most = trace_internal::max_or_least(times.operand(), {});
  const Expr each = column(column(times));
  const auto running = [&](const Squaring& s) { return (Expr(s.done) < most).tensor(); };
  const auto step = [&](const Squaring& s) {
    const Expr done = Expr(s.done), now = Expr(s.power);
    return Squaring{(done + 1).tensor(), where(done < each, product(now, now), now).tensor()};
  };
  const Squaring start{zeros({}, s32), r.tensor()};
  return Expr(while_loop(running, step, start, {.max_steps = bound}).power);
}

Expr expm_of(const Expr& a) {
  if (a.tensor().size() == 0) return a;
  const Pade pade = pade_for(a.dtype());
  const Expr size = norm_1(a);
  const Expr excess = log(size / pade.norm) / std::log(2.0);
  const Expr times = where(is_finite(size), maximum(ceil(excess), 0.0), 0.0);
  const Expr factor = power(2.0, -times).astype(a.dtype());
  // Each squaring doubles the error: where there are more than the dtype has digits, none is left.
  const int digits = real_dtype(a.dtype()) == f32 ? 24 : 53;
  const Expr result = squared(approximant(a * column(column(factor)), pade.coefficients),
                              times.astype(s32), digits);
  return where(column(column(times)) > digits, std::numeric_limits<double>::quiet_NaN(), result);
}

}  // namespace

Tensor matrix_power(Operand operand, base::Int exponent) {
  const trace_internal::PublicCall call("linalg::matrix_power", operand.at());
  const Expr a = square_of("a", operand);
  const auto of = [&](std::span<const Expr> in) -> std::vector<Expr> {
    if (exponent >= 0) return {power_of(in[0], static_cast<uint64_t>(exponent))};
    return {power_of(Expr(inv(in[0].operand())), -static_cast<uint64_t>(exponent))};
  };
  return as_program("linalg::matrix_power", KnownOptions(exponent), {a}, of)[0];
}

Tensor expm(Operand operand) {
  const trace_internal::PublicCall call("linalg::expm", operand.at());
  const Expr a = square_of("a", operand);
  const auto of = [](std::span<const Expr> in) -> std::vector<Expr> { return {expm_of(in[0])}; };
  return as_program("linalg::expm", KnownOptions(), {a}, of)[0];
}

}  // namespace heddle::linalg
