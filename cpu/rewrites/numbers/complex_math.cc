#include "heddle/cpu/rewrites/numbers/complex_math.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "heddle/cpu/lower/hlo_names.h"
#include "heddle/hlo/attributes.h"

namespace heddle::cpu {
namespace {

using hlo::ComparisonDirection;

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

// The integers of a float's bits.
struct FloatBits {
  explicit FloatBits(DType dtype)
      : type(dtype == f64 ? s64 : s32),
        mantissa(dtype == f64 ? 52 : 23),
        bias(dtype == f64 ? 1023 : 127) {}

  // Of the float 2^n.
  [[nodiscard]] double power(int64_t n) const {
    return std::ldexp(static_cast<double>(n + bias), static_cast<int>(mantissa));
  }

  DType type;
  int64_t mantissa, bias;
};

hlo::Value bits_of(const hlo::Value& x) { return bitcast_convert(x, FloatBits(x.dtype()).type); }
hlo::Value float_of(const hlo::Value& bits) {
  return bitcast_convert(bits, bits.dtype() == s64 ? f64 : f32);
}

// x, which is not negative, with the sign of y.
hlo::Value with_sign(const hlo::Value& x, const hlo::Value& y) {
  const hlo::Value bits = bits_of(y);
  const double sign = std::ldexp(-1.0, y.dtype() == f64 ? 63 : 31);
  return float_of(bits_of(x) | (bits & bits.number(sign)));
}

// The exponent of the larger part, as bits of a normal number whose inverse is normal too.
hlo::Value exponent_of(const ComplexParts& z) {
  const FloatBits of(z.re.dtype());
  const hlo::Value largest = maximum(bits_of(abs(z.re)), bits_of(abs(z.im)));
  const auto power = [&](int64_t n) { return largest.number(of.power(n)); };
  return minimum(maximum(largest & power(of.bias + 1), power(1 - of.bias)), power(of.bias - 1));
}

ComplexParts times(const ComplexParts& z, const hlo::Value& x) { return {z.re * x, z.im * x}; }

// z by the power of two, without overflow and without squares that are subnormal and count.
ComplexParts scaled(const ComplexParts& z, const hlo::Value& exponent) {
  const FloatBits of(z.re.dtype());
  return times(z, float_of(exponent.number(2 * of.power(0)) - exponent));
}

hlo::Value squares(const ComplexParts& z) { return z.re * z.re + z.im * z.im; }

// |z|, at most 1.2 ulp.
hlo::Value magnitude(const ComplexParts& z) {
  const hlo::Value exponent = exponent_of(z);
  return sqrt(squares(scaled(z, exponent))) * float_of(exponent);
}

hlo::Value is_nan(const hlo::Value& x) { return x != x; }
hlo::Value is_number(const hlo::Value& x) { return x == x; }
hlo::Value is_infinite(const hlo::Value& x) { return abs(x) == kInfinity; }

// 1 with the sign of x where x is infinite, else 0 with it.
hlo::Value unit(const hlo::Value& x) {
  return with_sign(select(is_infinite(x), 1, x.number(0)), x);
}

// is_wide: of numbers of c64 in f64, whose last digits are not needed.
ComplexParts plain_quotient(const ComplexParts& x, const ComplexParts& y, bool is_wide) {
  const hlo::Value norm = squares(y);
  const ComplexParts all = {x.re * y.re + x.im * y.im, x.im * y.re - x.re * y.im};
  return is_wide ? times(all, 1 / norm) : ComplexParts{all.re / norm, all.im / norm};
}

// Where plain_quotient() gives NaN in both parts there is a limit, as
// interpreter/ops/elementwise/complex_math.h has it.
ComplexParts with_limits(const ComplexParts& x, const ComplexParts& y, const ComplexParts& plain) {
  const auto& [a, b] = x;
  const auto& [c, d] = y;
  const hlo::Value of_zero = with_sign(c.number(kInfinity), c);
  const hlo::Value by_zero = ((c == 0) & (d == 0)) & (is_number(a) | is_number(b));
  const hlo::Value of_infinite = (is_infinite(a) | is_infinite(b)) & (is_finite(c) & is_finite(d));
  const hlo::Value by_infinite = (is_infinite(c) | is_infinite(d)) & (is_finite(a) & is_finite(b));
  const hlo::Value p = unit(a), q = unit(b), r = unit(c), s = unit(d);
  const auto limit = [&](const hlo::Value& value, const hlo::Value& zero, const hlo::Value& large,
                         const hlo::Value& small) {
    const hlo::Value last = select(by_infinite, 0 * small, value);
    const hlo::Value found =
        select(by_zero, of_zero * zero, select(of_infinite, kInfinity * large, last));
    return select(is_nan(plain.re) & is_nan(plain.im), found, value);
  };
  const ComplexParts half = {0.5 * a, 0.5 * b};  // its sums do not overflow
  return {limit(plain.re, a, p * c + q * d, half.re * r + half.im * s),
          limit(plain.im, b, q * c - p * d, half.im * r - half.re * s)};
}

// The imaginary part is the constant 0, as of floats that divide a complex array.
bool is_real(const ComplexParts& z) {
  const auto* at = &z.im.graph().at(z.im.id());
  while (at->opcode == Opcode::kBroadcast || at->opcode == Opcode::kReshape)
    at = &z.im.graph().at(at->operands[0]);
  if (at->opcode != Opcode::kConstant) return false;
  const Literal& literal = at->attrs.get<hlo::ConstantAttrs>().literal;
  return literal.element_count() == 1 && literal.to_double(0) == 0 &&
         !std::signbit(literal.to_double(0));
}

// By a real y, where with_limits(plain_quotient()) is x.re / y.re and x.im / y.re, and NaN beside
// what is not finite.
ComplexParts quotient_by_real(const ComplexParts& x, const ComplexParts& y) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  // 0 times the other part gives a zero the sign that the sum of products has.
  const hlo::Value size = abs(y.re), sign = with_sign(y.re.number(1), y.re);
  const auto part = [&](const hlo::Value& own, const hlo::Value& other, double zero) {
    const hlo::Value spoilt = select((y.re != 0) & (abs(own) != kInfinity), kNan, own / y.re);
    return select(is_finite(other), (own * sign + zero * other) / size, spoilt);
  };
  return {part(x.re, x.im, 0.0), part(x.im, x.re, -0.0)};
}

ComplexParts converted(const ComplexParts& z, DType dtype) {
  return {convert(z.re, dtype), convert(z.im, dtype)};
}

ComplexParts negated(const ComplexParts& z) { return {-z.re, -z.im}; }
ComplexParts one_plus(const ComplexParts& z) { return {1 + z.re, z.im}; }

// NaN in both parts where one of z is.
ComplexParts unless_nan(const ComplexParts& z, const ComplexParts& value) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const hlo::Value none = is_nan(z.re) | is_nan(z.im);
  return {select(none, kNan, value.re), select(none, kNan, value.im)};
}

// Functions of z, c64 or c128, whose parts are f64. Those of c64 neither overflow nor cancel there,
// so that the formulas are those of interpreter/ops/elementwise/complex_math.h.
class Functions {
 public:
  explicit Functions(bool is_c64) : is_c64_(is_c64) {}

  [[nodiscard]] ComplexParts exp(const ComplexParts& z) const {
    const hlo::Value cosine = hlo::cos(z.im), sine = hlo::sin(z.im);
    // e^re may be infinite where its product with them is not.
    constexpr double kShift = 40;
    const hlo::Value is_large = z.re > 700;
    const hlo::Value size = hlo::exp(is_c64_ ? z.re : select(is_large, z.re - kShift, z.re));
    ComplexParts value = {size * cosine, size * sine};
    if (!is_c64_) value = times(value, select(is_large, std::exp(kShift), size.number(1)));
    return {value.re, select(z.im == 0, z.im, value.im)};
  }

  // Of c128, a part of y that is 2^1000 times smaller than the other is as 0 below an infinite x.
  [[nodiscard]] ComplexParts divide(const ComplexParts& x, const ComplexParts& y) const {
    if (is_c64_) return with_limits(x, y, plain_quotient(x, y, true));
    const FloatBits of(f64);
    const hlo::Value of_x = exponent_of(x), of_y = exponent_of(y);
    const ComplexParts value = plain_quotient(scaled(x, of_x), scaled(y, of_y), false);
    // The difference of the exponents goes in by halves, which are normal.
    const auto mantissa = static_cast<double>(of.mantissa);
    const hlo::Value difference = (of_x >> mantissa) - (of_y >> mantissa), half = difference >> 1.0;
    const auto power = [&](const hlo::Value& n) {
      return float_of((n + static_cast<double>(of.bias)) << mantissa);
    };
    return with_limits(x, y, times(times(value, power(half)), power(difference - half)));
  }

  // The root of a negative number is above the real axis, whatever the sign of its imaginary zero.
  [[nodiscard]] ComplexParts sqrt(const ComplexParts& z) const {
    const hlo::Value im = select((z.im == 0) & (z.re < 0), 0, z.im);
    return unless_nan(z, root({z.re, im}));
  }

  // Of 0 the real part is infinite and the imaginary part has no limit; of infinities it is 0.
  [[nodiscard]] ComplexParts rsqrt(const ComplexParts& z) const {
    const ComplexParts value = divide({z.re.number(1), z.re.number(0)}, root(z));
    const hlo::Value is_zero = (z.re == 0) & (z.im == 0);
    const hlo::Value is_far = is_infinite(z.re) | (is_infinite(z.im) & is_nan(z.re));
    const auto part = [&](const hlo::Value& far, double zero, const hlo::Value& x) {
      return select(is_far, with_sign(x.number(0), far), select(is_zero, zero, x));
    };
    return {part(z.re, kInfinity, value.re),
            part(-z.im, std::numeric_limits<double>::quiet_NaN(), value.im)};
  }

  [[nodiscard]] ComplexParts log(const ComplexParts& z) const {
    return unless_nan(z, {log_of_size(z, std::identity()), atan2(z.im, z.re)});
  }

  // z / |z|; 0 for 0.
  [[nodiscard]] ComplexParts sign(const ComplexParts& z) const {
    if (is_c64_) {  // in f64
      const hlo::Value square = squares(z);
      return times(z, select(square == 0, 0, hlo::rsqrt(square)));
    }
    const ComplexParts near = scaled(z, exponent_of(z));
    const hlo::Value size = hlo::sqrt(squares(near)), is_zero = size == 0;
    const auto part = [&](const hlo::Value& x) { return select(is_zero, 0, x / size); };
    return {part(near.re), part(near.im)};
  }

  [[nodiscard]] ComplexParts sin(const ComplexParts& z) const {
    return {on_axis(z, z.re, hlo::sin(z.re) * in_range(cosh(z.im))),
            hlo::cos(z.re) * in_range(sinh(z.im))};
  }
  [[nodiscard]] ComplexParts cos(const ComplexParts& z) const {
    return {hlo::cos(z.re) * in_range(cosh(z.im)),
            on_axis(z, -(z.re * with_sign(z.im.number(1), z.im)),
                    -(hlo::sin(z.re) * in_range(sinh(z.im))))};
  }

  // (sinh a cosh a + i sin b cos b) / (sinh^2 a + cos^2 b). From |a| = 350 on that is +-1, and the
  // imaginary part, which is below 1e-303, is taken for 0.
  [[nodiscard]] static ComplexParts tanh(const ComplexParts& z) {
    constexpr double kFar = 350;
    const hlo::Value size = abs(z.re);
    const hlo::Value is_far = (size > kFar) & (is_finite(z.im) | is_infinite(z.re));
    const hlo::Value less = hlo::expm1(minimum(size, size.number(kFar))), grown = 1 + less;
    const hlo::Value sinh = 0.5 * (less + less / grown), cosh = 1 + 0.5 * less * (less / grown);
    const hlo::Value cosine = hlo::cos(z.im), turn = hlo::sin(z.im) * cosine;
    const hlo::Value norm = sinh * sinh + cosine * cosine;
    const hlo::Value zero = with_sign(z.im.number(0), select(is_finite(z.im), turn, z.im));
    return {with_sign(select(is_far, 1, sinh * cosh / norm), z.re),
            select(z.im == 0, z.im, select(is_far, zero, turn / norm))};
  }

  // -i tanh(iz)
  [[nodiscard]] static ComplexParts tan(const ComplexParts& z) {
    const ComplexParts turned = tanh({-z.im, z.re});
    return {turned.im, -turned.re};
  }

  // 1 / (1 + e^-z)
  [[nodiscard]] ComplexParts logistic(const ComplexParts& z) const {
    return divide({z.re.number(1), z.re.number(0)}, one_plus(exp(negated(z))));
  }

  // e^z - 1, where cos(b) - 1 is -2 sin(b/2)^2.
  [[nodiscard]] static ComplexParts expm1(const ComplexParts& z) {
    const hlo::Value s = hlo::sin(0.5 * z.im), less = hlo::expm1(z.re);
    return {select(z.im == 0, less, less * hlo::cos(z.im) - 2 * s * s),
            select(z.im == 0, z.im, hlo::exp(z.re) * hlo::sin(z.im))};
  }

  // log(1 + z), of |1 + z|^2 - 1 near 0.
  [[nodiscard]] ComplexParts log1p(const ComplexParts& z) const {
    const hlo::Value is_near = (abs(z.re) <= 0.25) & (abs(z.im) <= 0.25);
    const hlo::Value less = z.re * (2 + z.re) + z.im * z.im;
    const ComplexParts moved = one_plus(z);
    const hlo::Value size = log_of_size(
        moved, [&](const hlo::Value& rounded) { return select(is_near, less, rounded); });
    return unless_nan(moved, {size, atan2(moved.im, moved.re)});
  }

  // e^(y log x); for a real y of |x|^y, which is exact more often. 0^0 is 1, and 0^c is 0 for
  // c > 0.
  [[nodiscard]] ComplexParts power(const ComplexParts& x, const ComplexParts& y) const {
    const hlo::Value size = hlo::sqrt(squares(x)), angle = atan2(x.im, x.re);
    const hlo::Value log = hlo::log(size);
    const hlo::Value is_real = y.im == 0, turn = y.re * angle;
    const ComplexParts any = exp({y.re * log - y.im * angle, turn + y.im * log});
    const hlo::Value is_fixed = (size == 0) & is_real & (y.re >= 0);
    const hlo::Value grown = hlo::power(size, y.re);
    const auto part = [&](double fixed, const hlo::Value& real, const hlo::Value& value) {
      return select(is_real, select(is_fixed, select(y.re == 0, fixed, size), real), value);
    };
    return {part(1, grown * hlo::cos(turn), any.re), part(0, grown * hlo::sin(turn), any.im)};
  }

 private:
  // With the sign of an imaginary zero, as in C.
  [[nodiscard]] ComplexParts root(const ComplexParts& given) const {
    ComplexParts z = given;
    hlo::Value power;
    if (!is_c64_) {  // by an even power of two
      const FloatBits of(f64);
      const hlo::Value bits = exponent_of(given), one = bits.number(of.power(0));
      const hlo::Value exponent = bits | bits.number(std::ldexp(1.0, 52));
      z = scaled(given, exponent);
      power = float_of(((exponent - one) >> 1.0) + one);
    }
    const hlo::Value larger = hlo::sqrt(0.5 * (hlo::sqrt(squares(z)) + abs(z.re)));
    const hlo::Value smaller = select(z.im == 0, z.im, z.im / (2 * larger));
    const hlo::Value is_left = z.re < 0, is_far = is_infinite(z.im);
    const ComplexParts value = {
        select(is_far, kInfinity, select(is_left, abs(smaller), larger)),
        select(is_far, z.im, select(is_left, with_sign(larger, z.im), smaller))};
    return is_c64_ ? value : times(value, power);
  }

  // log |z|. Near 1 it is of exact(|z|^2 - 1), of the squares as sums without rounding.
  template <class Exact>
  [[nodiscard]] hlo::Value log_of_size(const ComplexParts& z, const Exact& exact) const {
    const hlo::Value high = maximum(abs(z.re), abs(z.im)), low = minimum(abs(z.re), abs(z.im));
    const hlo::Value norm = squares(z);
    const hlo::Value is_near = (norm > 0.5) & (norm < 2);
    const auto less = [&]() -> hlo::Value {
      if (is_c64_) return (high * high - 1) + low * low;
      const auto head = [](const hlo::Value& x) {
        return x.graph().op(Opcode::kReducePrecision, {x},
                            hlo::ReducePrecisionAttrs{.exponent_bits = 11, .mantissa_bits = 25});
      };
      const hlo::Value a = head(high), b = head(low);
      return ((a * a - 1) + b * b) + ((high - a) * (high + a) + (low - b) * (low + b));
    };
    const hlo::Value near = 0.5 * hlo::log1p(select(is_near, exact(less()), 0));
    if (is_c64_) return select(is_near, near, 0.5 * hlo::log(norm));
    const FloatBits of(f64);
    const hlo::Value exponent = exponent_of(z);
    const hlo::Value power = convert((exponent >> static_cast<double>(of.mantissa)) - of.bias, f64);
    const hlo::Value far = 0.5 * hlo::log(squares(scaled(z, exponent))) + std::numbers::ln2 * power;
    return select(is_near, near, far);
  }

  // The zero where z is imaginary: 0 times an infinite cosh would be NaN.
  [[nodiscard]] static hlo::Value on_axis(const ComplexParts& z, const hlo::Value& zero,
                                          const hlo::Value& value) {
    return select(z.re == 0, zero, value);
  }

  // x, or the infinity that it is as a part of the element type.
  [[nodiscard]] hlo::Value in_range(const hlo::Value& x) const {
    if (!is_c64_) return x;
    const hlo::Value narrow = convert(x, f32);
    return select(is_infinite(narrow), convert(narrow, f64), x);
  }

  bool is_c64_;
};

// Nothing where the evaluator's rule serves.
std::optional<ComplexParts> function_of(Opcode opcode, const Functions& functions, bool is_c64,
                                        std::span<const ComplexParts> z) {
  switch (opcode) {
    case Opcode::kExp: return functions.exp(z[0]);
    case Opcode::kDivide: return functions.divide(z[0], z[1]);
    case Opcode::kSqrt: return functions.sqrt(z[0]);
    case Opcode::kLog: return functions.log(z[0]);
    case Opcode::kSign: return functions.sign(z[0]);
    case Opcode::kSin: return functions.sin(z[0]);
    case Opcode::kCos: return functions.cos(z[0]);
    case Opcode::kTanh: return Functions::tanh(z[0]);
    case Opcode::kLog1p: return functions.log1p(z[0]);
    default: break;
  }
  if (!is_c64) return std::nullopt;  // a part of c128 would be more than an ulp off
  switch (opcode) {
    case Opcode::kTan: return Functions::tan(z[0]);
    case Opcode::kExpm1: return Functions::expm1(z[0]);
    case Opcode::kLogistic: return functions.logistic(z[0]);
    case Opcode::kPower: return functions.power(z[0], z[1]);
    case Opcode::kRsqrt: return functions.rsqrt(z[0]);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<ComplexParts> write_complex(const Instruction& op,
                                          std::span<const ComplexParts> operands) {
  if (operands.empty()) return std::nullopt;
  if (op.opcode == Opcode::kMultiply) return product(operands[0], operands[1]);
  if (op.opcode == Opcode::kAbs) return ComplexParts{magnitude(operands[0]), {}};
  if (op.opcode == Opcode::kCompare) {
    switch (op.attrs.get<hlo::CompareAttrs>().direction) {
      case ComparisonDirection::kEq: return ComplexParts{equal(operands[0], operands[1]), {}};
      case ComparisonDirection::kNe: return ComplexParts{different(operands[0], operands[1]), {}};
      default: return std::nullopt;
    }
  }
  if (op.opcode == Opcode::kDivide && is_real(operands[1]))
    return quotient_by_real(operands[0], operands[1]);
  const bool is_c64 = operands[0].re.dtype() == f32;
  std::vector<ComplexParts> wide;
  for (const ComplexParts& each : operands) wide.push_back(is_c64 ? converted(each, f64) : each);
  if (op.opcode == Opcode::kDivide && is_c64) {
    return with_limits(operands[0], operands[1],
                       converted(plain_quotient(wide[0], wide[1], true), f32));
  }
  const auto value = function_of(op.opcode, Functions(is_c64), is_c64, wide);
  return value && is_c64 ? converted(*value, f32) : value;
}

}  // namespace heddle::cpu
