#include "heddle/linalg/functions.h"

#include <array>
#include <cmath>
#include <span>

#include "heddle/linalg/internal/matrices.h"
#include "heddle/linalg/solving.h"
#include "heddle/scan/loops.h"
#include "heddle/trace/extremes.h"
#include "heddle/trace/public_call.h"
#include "heddle/trace/tree.h"

namespace heddle::linalg {
namespace {

using namespace linalg_internal;  // NOLINT: the vocabulary of this folder

Located power_of(const Located& a, uint64_t exponent) {
  if (exponent == 0) return identity(a, batch_of(a), rows(a), rows(a));
  Located square = a;
  std::optional<Located> out;
  for (uint64_t left = exponent;; square = product(square, square)) {
    if (left % 2 == 1) out = out ? product(*out, square) : square;
    left /= 2;
    if (left == 0) return *out;
  }
}

// A Pade approximant of exp: p(a) / p(-a), with its coefficients from that of the lowest power on,
// and the greatest norm of a where it is good enough.
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

// c[first] + c[first + 2] a^2 + c[first + 4] a^4 + c[first + 6] a^6, of what c has; powers = {1,
// a^2, a^4, a^6}.
Located every_other(std::span<const double> c, size_t first, std::span<const Located> powers) {
  Located out = powers[0] * c[first];
  for (size_t i = 1; i < powers.size() && first + 2 * i < c.size(); ++i)
    out = out + powers[i] * c[first + 2 * i];
  return out;
}
// The even (first = 0) or odd powers of p, these divided by a.
Located half_of(std::span<const double> c, size_t first, std::span<const Located> powers) {
  const Located low = every_other(c, first, powers);
  if (c.size() <= 8) return low;
  Located high = powers[1] * c[first + 8];  // times a^6
  for (size_t i = 2; i < 4 && first + 6 + 2 * i < c.size(); ++i)
    high = high + powers[i] * c[first + 6 + 2 * i];
  return low + product(powers[3], high);
}

Located approximant(const Located& a, std::span<const double> c) {
  const Located a2 = product(a, a), a4 = product(a2, a2), a6 = product(a4, a2);
  const std::array<Located, 4> powers = {identity(a, batch_of(a), rows(a), rows(a)), a2, a4, a6};
  const Located odd = product(a, half_of(c, 1, powers)), even = half_of(c, 0, powers);
  return a.with(solve((even - odd).operand(), (even + odd).operand()));
}

// The greatest sum down a column: [..].
Located norm_1(const Located& a) {
  const Located sums = a.with(sum(abs(a).operand(), {.axes = {-2}}));
  return a.with(trace_internal::max_or_least(sums.operand(), {.axes = {-1}}));
}

struct Squaring {
  Tensor done;   // s32[]: squarings of all matrices
  Tensor power;  // [.., n, n]
  static constexpr auto kFields =
      fields(field("done", &Squaring::done), field("power", &Squaring::power));
};

// Each matrix squared as often as `times`, s32[..], says.
Located squared(const Located& r, const Located& times) {
  const Located most = r.with(trace_internal::max_or_least(times.operand(), {}));
  const Located each = column(column(times));
  const auto running = [&](const Squaring& s) { return (r.with(s.done) < most).tensor(); };
  const auto step = [&](const Squaring& s) {
    const Located done = r.with(s.done), now = r.with(s.power);
    return Squaring{(done + 1).tensor(), where(done < each, product(now, now), now).tensor()};
  };
  const Squaring start{zeros({}, s32, r.at()), r.tensor()};
  return r.with(while_loop(running, step, start, r.at()).power);
}

Located expm_of(const Located& a) {
  if (a.tensor().size() == 0) return a;
  const Pade pade = pade_for(a.dtype());
  const Located size = norm_1(a);
  const Located excess = log(size / pade.norm) / std::log(2.0);
  const Located times = where(is_finite(size), maximum(ceil(excess), 0.0), 0.0);
  const Located factor = power(2.0, -times).astype(a.dtype());
  return squared(approximant(a * column(column(factor)), pade.coefficients), times.astype(s32));
}

}  // namespace

Tensor matrix_power(Operand operand, base::Int exponent) {
  const trace_internal::PublicCall call("linalg::matrix_power", operand.at());
  const Located a = square_of("linalg::matrix_power", "a", operand);
  return as_program("linalg::matrix_power", a.at(), [&]() -> std::vector<Located> {
    if (exponent >= 0) return {power_of(a, static_cast<uint64_t>(exponent))};
    return {power_of(a.with(inv(a.operand())), -static_cast<uint64_t>(exponent))};
  })[0];
}

Tensor expm(Operand operand) {
  const trace_internal::PublicCall call("linalg::expm", operand.at());
  const Located a = square_of("linalg::expm", "a", operand);
  return as_program("linalg::expm", a.at(),
                    [&]() -> std::vector<Located> { return {expm_of(a)}; })[0];
}

}  // namespace heddle::linalg
