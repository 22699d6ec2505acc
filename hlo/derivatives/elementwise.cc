// Derivatives of elementwise ops: one row each. Where a function has none, JAX's conventions: abs
// has slope 1 at 0, the larger of two equal numbers is half of each, clamp's bounds stop its
// operand, steps have slope 0.
#include <numbers>

#include "heddle/hlo/derivatives/internal/rules.h"

namespace heddle::hlo {
namespace {

Value abs_jvp(const Value& x, const Value& y, const Value& dx) {
  if (!is_complex(x.dtype())) return select(x >= 0.0, dx, -dx);
  return real(dx * conjugate(x)) / select(y == 0.0, 1.0, y);
}

// Of a complex number, x / |x|: what turns it.
Value sign_jvp(const Value& x, const Value& y, const Value& dx) {
  if (!is_complex(x.dtype())) return {};
  const Value size = abs(x);
  return (dx - y * real(dx * conjugate(y))) / select(size == 0.0, 1.0, size);
}

// In 32 bits or more: squares of 256 and more are infinite in f16.
Value wide(const Value& x) { return bit_width(x.dtype()) < 32 ? convert(x, f32) : x; }
Value rounded_to(const Value& like, const Value& x) { return convert(x, like.dtype()); }

// 1 - x^2. Near 0 the derivative of the product would be the difference of two numbers near 1, near
// 1 that of the difference is sound but its value is not.
Value one_less_square(const Value& x) {
  return select(abs(real(x)) < 0.5, 1.0 - x * x, (1.0 - x) * (1.0 + x));
}

// 1 / sqrt(x^2 + 1). Far from 0 the root is that of (k x)^2 + k^2, where squares are finite.
Value asinh_slope(const Value& x) {
  if (is_complex(x.dtype())) return rsqrt(x * x + 1.0);
  const bool is_double = x.dtype() == f64;
  const Value k =
      select(abs(x) < (is_double ? 0x1p256 : 0x1p32), x.number(1), is_double ? 0x1p-560 : 0x1p-70);
  const Value kx = k * x;
  return k * rsqrt(kx * kx + k * k);
}

Value unary_jvp(Opcode opcode, const Value& x, const Value& y, const Value& dx) {
  switch (opcode) {
    case Opcode::kAbs: return abs_jvp(x, y, dx);
    case Opcode::kAddDependency: return dx;  // it needs no order: it has no effects
    case Opcode::kAcos: return -(dx * rsqrt(one_less_square(x)));
    case Opcode::kAcosh:  // the product overflows, and its root has another branch
      return dx * rounded_to(x, rsqrt(wide(x) - 1.0) * rsqrt(wide(x) + 1.0));
    case Opcode::kAsin: return dx * rsqrt(one_less_square(x));
    case Opcode::kAsinh: return dx * rounded_to(x, asinh_slope(wide(x)));
    case Opcode::kAtan: return rounded_to(x, wide(dx) / (wide(x) * wide(x) + 1.0));
    case Opcode::kAtanh: return dx / one_less_square(x);
    case Opcode::kCbrt: return dx / (3.0 * (y * y));
    case Opcode::kCos: return -(dx * sin(x));
    case Opcode::kCosh: return dx * sinh(x);
    case Opcode::kErf: return dx * ((2.0 * std::numbers::inv_sqrtpi) * exp(-(x * x)));
    case Opcode::kExp: return dx * y;
    case Opcode::kExpm1: return dx * exp(x);  // y + 1 is 0 where y is -1, rounded
    case Opcode::kImag: return imag(dx);
    case Opcode::kLog: return dx / x;
    case Opcode::kLog1p: return dx / (x + 1.0);
    case Opcode::kLogistic: return dx * (y * (1.0 - y));
    case Opcode::kNegate: return -dx;
    case Opcode::kReal: return real(dx);
    case Opcode::kRsqrt: return dx * (-0.5 * (y / x));
    case Opcode::kSign: return sign_jvp(x, y, dx);
    case Opcode::kSin: return dx * cos(x);
    case Opcode::kSinh: return dx * cosh(x);
    case Opcode::kSqrt: return dx * (0.5 / y);
    case Opcode::kTan: return dx * (y * y + 1.0);
    case Opcode::kTanh: return dx * (1.0 - y * y);
    default: return {};
  }
}

// How much of max(x, other) or min(x, other) is x: all, half or nothing.
Value share(const Value& x, const Value& other, const Value& y) {
  return select(x == y, select(other == y, y.number(0.5), y.number(1)), 0.0);
}

// x^y: dx y x^(y-1), and 0 of 0^0, where that is 0 times infinity. Elsewhere y stands in it, so
// that its own derivative by y is right where y is 0.
Value power_slope(const Value& x, const Value& y) {
  return y * power(x, select(y == 0.0, select(x == 0.0, 1.0, y - 1.0), y - 1.0));
}

// q without what is behind its point.
Value truncated(const Value& q) { return sign(q) * floor(abs(q)); }

Value binary_jvp(Opcode opcode, const Value& x, const Value& y, const Value& dx, const Value& dy,
                 const Value& z) {
  switch (opcode) {
    case Opcode::kAdd: return add(dx, dy);
    case Opcode::kSubtract: return add(dx, dy ? -dy : dy);
    case Opcode::kMultiply: return add(dx ? dx * y : dx, dy ? x * dy : dy);
    case Opcode::kDivide: return add(dx ? dx / y : dx, dy ? -(dy * (z / y)) : dy);
    case Opcode::kMaximum:
    case Opcode::kMinimum: return add(dx ? dx * share(x, y, z) : dx, dy ? dy * share(y, x, z) : dy);
    case Opcode::kPower:
      return add(dx ? dx * power_slope(x, y) : dx,
                 dy ? dy * (log(select(x == 0.0, 1.0, x)) * z) : dy);
    case Opcode::kRemainder: return add(dx, dy ? -(dy * truncated(x / y)) : dy);
    case Opcode::kAtan2: {
      const Value squares = wide(x) * wide(x) + wide(y) * wide(y);
      const auto share = [&](const Value& of) { return rounded_to(of, wide(of) / squares); };
      return add(dx ? dx * share(y) : dx, dy ? -(dy * share(x)) : dy);
    }
    default: return {};
  }
}

}  // namespace

StatusOr<Values> jvp_of_zero(const JvpArgs& d) { return Values(d.y.size()); }

StatusOr<Values> jvp_unary(const JvpArgs& d) {
  return Values{unary_jvp(d.of.opcode, d.x[0], d.y[0], d.dx[0])};
}

StatusOr<Values> jvp_binary(const JvpArgs& d) {
  return Values{binary_jvp(d.of.opcode, d.x[0], d.x[1], d.dx[0], d.dx[1], d.y[0])};
}

StatusOr<Values> jvp_complex(const JvpArgs& d) {
  return Values{complex(d.full_dx(0), d.full_dx(1))};
}

// min(max(low, x), high): what is beyond a bound is that bound's.
StatusOr<Values> jvp_clamp(const JvpArgs& d) {
  const Value &low = d.x[0], &x = d.x[1], &high = d.x[2];
  if (is_complex(x.dtype())) return base::unimplemented("complex numbers have no order");
  const auto where = [&](const Value& p, const Value& dx) {
    return dx ? select(p, stretched(dx, x.sizes()), d.graph.zeros(x.shape())) : dx;
  };
  const Value of_low = d.dx[0] ? where((low > x) & !(high < low), d.dx[0]) : Value();
  const Value of_high = d.dx[2] ? where((high < x) | (high < low), d.dx[2]) : Value();
  return Values{add(add(of_low, where((x > low) & (x < high), d.dx[1])), of_high)};
}

StatusOr<Values> jvp_select(const JvpArgs& d) {
  return Values{d.again({d.x[0], d.full_dx(1), d.full_dx(2)})};
}

StatusOr<Values> jvp_convert(const JvpArgs& d) { return Values{convert(d.dx[0], d.y[0].dtype())}; }

namespace {

// Back to the element type of the operand.
Value converted_back(const Value& ct, DType dtype) {
  return is_complex(ct.dtype()) && !is_complex(dtype) ? convert(real(ct), dtype)
                                                      : convert(ct, dtype);
}

Value of_operand(const TransposeArgs& t, size_t i) {
  const Value& ct = t.ct[0];
  switch (t.of.opcode) {
    case Opcode::kAdd:
    case Opcode::kAddDependency:
    case Opcode::kCopy:
    case Opcode::kOptBarrier: return ct;
    case Opcode::kSubtract: return i == 0 ? ct : -ct;
    case Opcode::kNegate: return -ct;
    case Opcode::kMultiply: return ct * t.x[1 - i];
    case Opcode::kDivide: return ct / t.x[1];
    case Opcode::kReal: return complex(ct, t.graph.zeros(ct.shape()));
    case Opcode::kImag: return complex(t.graph.zeros(ct.shape()), -ct);
    case Opcode::kComplex: return i == 0 ? real(ct) : -imag(ct);
    case Opcode::kConvert: return converted_back(ct, t.shape(0).dtype());
    case Opcode::kReducePrecision: return t.graph.op(t.of.opcode, {ct}, t.of.attrs);
    case Opcode::kSelect: {
      const Value zeros = t.graph.zeros(ct.shape());
      return i == 1 ? select(t.x[0], ct, zeros) : select(t.x[0], zeros, ct);
    }
    default: return {};
  }
}

}  // namespace

StatusOr<Values> transpose_elementwise(const TransposeArgs& t) {
  if (t.of.opcode == Opcode::kMultiply && t.is_linear(0) && t.is_linear(1))
    return not_linear(kBothDepend);
  if (t.of.opcode == Opcode::kDivide && t.is_linear(1))
    return not_linear("its divisor depends on the argument");
  Values out(t.x.size());
  for (size_t i = 0; i < t.x.size(); ++i) {
    if (t.is_linear(i)) out[i] = of_operand(t, i);
  }
  return out;
}

}  // namespace heddle::hlo
