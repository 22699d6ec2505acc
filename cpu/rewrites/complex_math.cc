#include "heddle/cpu/rewrites/complex_math.h"

#include <limits>

#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

using hlo::ComparisonDirection;
using hlo::Opcode;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ComplexParts product(const ComplexParts& x, const ComplexParts& y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

hlo::Value equal(const ComplexParts& x, const ComplexParts& y) {
  return (x.re == y.re) & (x.im == y.im);
}
hlo::Value different(const ComplexParts& x, const ComplexParts& y) {
  return (x.re != y.re) | (x.im != y.im);
}

ComplexParts exponential(const ComplexParts& z) {
  const hlo::Value size = exp(z.re);
  return {size * cos(z.im), select(z.im == 0, z.im, size * sin(z.im))};
}

// sqrt(re^2 + im^2) of f32. A power of two brings the larger part next to 1, so that no square that
// counts overflows or is subnormal. At most 1.2 ulp.
hlo::Value magnitude(const ComplexParts& z) {
  const auto bits = [](const hlo::Value& x) { return bitcast_convert(abs(x), s32); };
  const auto float_of = [](const hlo::Value& bits) { return bitcast_convert(bits, f32); };
  const hlo::Value largest = maximum(bits(z.re), bits(z.im));
  const auto power = [&](int exponent) { return largest.number((exponent + 127) << 23); };
  // The exponent of a normal number whose inverse is normal too.
  const hlo::Value exponent =
      minimum(maximum(largest & largest.number(0xff << 23), power(-126)), power(126));
  const hlo::Value inverse = float_of(largest.number(254 << 23) - exponent);
  const hlo::Value a = z.re * inverse, b = z.im * inverse;
  return sqrt(a * a + b * b) * float_of(exponent);
}

hlo::Value is_nan(const hlo::Value& x) { return x != x; }
hlo::Value is_number(const hlo::Value& x) { return x == x; }
hlo::Value is_infinite(const hlo::Value& x) { return abs(x) == kInfinity; }

// 1 with the sign of x where x is infinite, else 0 with it.
hlo::Value unit(const hlo::Value& x) {
  return select(is_infinite(x), sign(x), select(is_nan(x), 0, x * 0));
}

// Where the formula gives NaN in both parts there is a limit, as
// interpreter/ops/elementwise/complex_math.h has it.
ComplexParts quotient(const ComplexParts& x, const ComplexParts& y) {
  const auto& [a, b] = x;
  const auto& [c, d] = y;
  const hlo::Value norm = c * c + d * d;
  const hlo::Value re = (a * c + b * d) / norm, im = (b * c - a * d) / norm;
  const hlo::Value of_zero = 1 / c;  // the infinity of the sign of c
  const hlo::Value by_zero = (norm == 0) & (is_number(a) | is_number(b));
  const hlo::Value of_infinite = (is_infinite(a) | is_infinite(b)) & (is_finite(c) & is_finite(d));
  const hlo::Value by_infinite = (is_infinite(c) | is_infinite(d)) & (is_finite(a) & is_finite(b));
  const hlo::Value p = unit(a), q = unit(b), r = unit(c), s = unit(d);
  const auto limit = [&](const hlo::Value& value, const hlo::Value& zero, const hlo::Value& large,
                         const hlo::Value& small) {
    const hlo::Value last = select(by_infinite, 0 * small, value);
    const hlo::Value found =
        select(by_zero, of_zero * zero, select(of_infinite, kInfinity * large, last));
    return select(is_nan(re) & is_nan(im), found, value);
  };
  return {limit(re, a, p * c + q * d, a * r + b * s), limit(im, b, q * c - p * d, b * r - a * s)};
}

ComplexParts converted(const ComplexParts& z, DType dtype) {
  return {convert(z.re, dtype), convert(z.im, dtype)};
}

}  // namespace

std::optional<ComplexParts> write_complex(const hlo::Instruction& op,
                                          std::span<const ComplexParts> operands) {
  if (operands.empty()) return std::nullopt;
  if (op.opcode == Opcode::kMultiply) return product(operands[0], operands[1]);
  if (op.opcode == Opcode::kCompare) {
    switch (op.attrs.get<hlo::CompareAttrs>().direction) {
      case ComparisonDirection::kEq: return ComplexParts{equal(operands[0], operands[1]), {}};
      case ComparisonDirection::kNe: return ComplexParts{different(operands[0], operands[1]), {}};
      default: return std::nullopt;
    }
  }
  // The formulas of c64 that could overflow or cancel go through f64.
  if (operands[0].re.dtype() != f32) return std::nullopt;
  const auto wide = [&](size_t i) { return converted(operands[i], f64); };
  switch (op.opcode) {
    case Opcode::kExp: return converted(exponential(wide(0)), f32);
    case Opcode::kAbs: return ComplexParts{magnitude(operands[0]), {}};
    case Opcode::kDivide: return converted(quotient(wide(0), wide(1)), f32);
    default: return std::nullopt;
  }
}

}  // namespace heddle::cpu
