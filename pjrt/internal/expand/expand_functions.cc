// Functions that XLA's CPU has as opcodes and does not compile: the inverses of circular and
// hyperbolic functions, sinh and cosh. JAX never hands them over.
//
// Real ones are computed in f32 where the type is narrower. Complex ones are Kahan's, on the parts
// (W. Kahan, "Branch cuts for complex elementary functions", 1987).
#include <limits>

#include "heddle/pjrt/internal/expand/expand.h"
#include "heddle/pjrt/internal/expand/rewrite.h"

namespace heddle::pjrt {
namespace {

// Beyond this x squared is infinite, or all of x squared plus 1.
double large(const Value& x) { return x.dtype() == f64 ? 1e150 : 1e18; }
// Beyond this the size of a complex number may be infinite.
double huge(const Value& x) { return x.dtype() == f64 ? 1e307 : 1e37; }
// Below this 4 / x^2 may be infinite, and 1 - x is 1.
double tiny(const Value& x) { return x.dtype() == f64 ? 1e-100 : 1e-12; }

constexpr double kLogOf2 = 0.6931471805599453;

// y >= 0 with the sign bit of x, zeros' too.
Value with_sign_bit_of(const Value& x, const Value& y) {
  return select(bitcast_convert(x, x.dtype() == f64 ? s64 : s32) < 0, -y, y);
}

// y with the sign of x; x itself where that is 0.
Value with_sign_of(const Value& x, const Value& y) {
  return select(x == 0, x, select(x < 0, -y, y));
}

Value log_of_double(const Value& x) { return log(x) + kLogOf2; }

// (exp(x) + exp(-x)) / 2, or their difference: exp(x) overflows before its half does.
Value half_sum_of_exponentials(const Value& x, Opcode sum) {
  const Value root = exp(x * 0.5);
  return binary(sum, root * 0.5 * root, 0.5 / root / root);
}

Value real_cosh(const Value& x) { return half_sum_of_exponentials(abs(x), Opcode::kAdd); }

Value real_sinh(const Value& x) {
  const Value size = abs(x), more = expm1(size);
  const Value small = 0.5 * (more + more / (more + 1));
  const Value whole = half_sum_of_exponentials(size, Opcode::kSubtract);
  return with_sign_of(x, select(size < 1, small, whole));
}

Value real_asinh(const Value& x) {
  const Value size = abs(x), squared = size * size;
  const Value more = size + squared / (1 + sqrt(squared + 1));
  return with_sign_of(x, select(size < large(x), log1p(more), log_of_double(size)));
}

Value real_acosh(const Value& x) {
  const Value beyond = x - 1;
  // Two roots: of x < 1 the product of what is below them may be positive.
  const Value more = beyond + sqrt(beyond) * sqrt(beyond + 2);
  return select(x < large(x), log1p(more), log_of_double(x));
}

Value real_atanh(const Value& x) {
  const Value size = abs(x);
  return with_sign_of(x, 0.5 * log1p(2 * size / (1 - size)));
}

Value cosine_side(const Value& x) { return sqrt((1 - x) * (1 + x)); }
Value real_asin(const Value& x) { return atan2(x, cosine_side(x)); }
Value real_acos(const Value& x) { return atan2(cosine_side(x), x); }
Value real_atan(const Value& x) { return atan2(x, x.number(1)); }

// The formula of an op of real numbers; null where XLA has the op.
using RealFunction = Value (*)(const Value&);
RealFunction real_function(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAcos: return real_acos;
    case Opcode::kAcosh: return real_acosh;
    case Opcode::kAsin: return real_asin;
    case Opcode::kAsinh: return real_asinh;
    case Opcode::kAtan: return real_atan;
    case Opcode::kAtanh: return real_atanh;
    case Opcode::kCosh: return real_cosh;
    case Opcode::kSinh: return real_sinh;
    default: return nullptr;
  }
}

// Complex numbers as pairs of parts.
struct Parts {
  Value re, im;
};

Value size_of(const Parts& z) { return abs(complex(z.re, z.im)); }

// -i z
Parts turned(const Parts& z) { return {z.im, -z.re}; }

// With both parts to their own last place, and the side of the cut by the sign of a zero: XLA's
// rounds the smaller part as the larger one, and has no sides.
Parts root_of(const Parts& z) {
  const Value a = abs(z.re), b = abs(z.im);
  const Value larger = sqrt(0.5 * a + 0.5 * size_of(z));
  const Value ratio = 0.5 * b / larger;
  const double infinity = std::numeric_limits<double>::infinity();
  const Value smaller = select(larger == 0, 0, select(b == infinity, b, ratio));
  const Value is_left = z.re < 0;
  return {select(is_left, smaller, larger),
          with_sign_bit_of(z.im, select(is_left, larger, smaller))};
}
Parts root_below_one(const Parts& z) { return root_of({1 - z.re, -z.im}); }  // sqrt(1 - z)
Parts root_above_one(const Parts& z) { return root_of({1 + z.re, z.im}); }   // sqrt(1 + z)
Parts root_beyond_one(const Parts& z) { return root_of({z.re - 1, z.im}); }  // sqrt(z - 1)

// A number whose size is finite: the given one, or that times a power of 2 where it is so large
// that its size may not be.
struct Scaled {
  Parts z;
  Value larger;  // of the parts of the given one
};

Value where_large(const Value& larger, double on_true, double on_false) {
  return select(larger < huge(larger), larger.number(on_false), larger.number(on_true));
}

Scaled scaled(const Parts& z, double by) {
  const Value larger = maximum(abs(z.re), abs(z.im));
  const Value scale = where_large(larger, by, 1);
  return {{z.re * scale, z.im * scale}, larger};
}

// asinh of what x, computed from scaled(z, 1 / 16), is for z itself: 16 x where z is large.
Value asinh_of_scaled(const Scaled& z, const Value& x) {
  return real_asinh(x) + with_sign_of(x, where_large(z.larger, 4 * kLogOf2, 0));
}

// Real and imaginary parts of conj(a) b.
Value real_of_product(const Parts& a, const Parts& b) { return a.re * b.re + a.im * b.im; }
Value imag_of_product(const Parts& a, const Parts& b) { return a.re * b.im - a.im * b.re; }

Parts complex_asin(const Parts& z) {
  const Scaled s = scaled(z, 0.0625);
  const Parts below = root_below_one(s.z), above = root_above_one(s.z);
  const Value cosine = below.re * above.re - below.im * above.im;
  return {atan2(s.z.re, cosine), asinh_of_scaled(s, imag_of_product(below, above))};
}

Parts complex_acos(const Parts& z) {
  const Scaled s = scaled(z, 0.0625);
  const Parts below = root_below_one(s.z), above = root_above_one(s.z);
  return {2 * atan2(below.re, above.re), asinh_of_scaled(s, imag_of_product(above, below))};
}

Parts complex_acosh(const Parts& z) {
  const Scaled s = scaled(z, 0.0625);
  const Parts beyond = root_beyond_one(s.z), above = root_above_one(s.z);
  return {asinh_of_scaled(s, real_of_product(beyond, above)), 2 * atan2(beyond.im, above.re)};
}

Parts complex_atanh(const Parts& z) {
  const Value below = 1 - z.re, above = 1 + z.re, size = abs(z.re);
  const Value away = size_of({1 - size, z.im});  // from 1 or -1
  const Value ratio = 4 * (size / away) / away;
  const Value near = 0.5 * (kLogOf2 - log(away));
  const Value re = select(away < tiny(away), near, 0.25 * log1p(ratio));
  return {with_sign_of(z.re, re), 0.5 * atan2(z.im, 0.5 * (below * above - z.im * z.im))};
}

Parts complex_cbrt(const Parts& z) {
  const Scaled s = scaled(z, 0.125);
  const Value size = unary(Opcode::kCbrt, size_of(s.z)) * where_large(s.larger, 2, 1);
  const Value angle = atan2(z.im, z.re) / 3;
  return {size * cos(angle), size * sin(angle)};
}

// size sin(angle), of angle 0 also where size is infinite.
Value times_sine(const Value& size, const Value& angle, const Value& sign_of_size) {
  return select(angle == 0, sign_of_size * angle, size * sin(angle));
}

Parts complex_function(Opcode opcode, const Parts& z) {
  switch (opcode) {
    case Opcode::kAcos: return complex_acos(z);
    case Opcode::kAcosh: return complex_acosh(z);
    case Opcode::kAsin: return complex_asin(z);
    case Opcode::kAsinh: return turned(complex_asin({-z.im, z.re}));
    case Opcode::kAtan: return turned(complex_atanh({-z.im, z.re}));
    case Opcode::kAtanh: return complex_atanh(z);
    case Opcode::kCbrt: return complex_cbrt(z);
    case Opcode::kCosh:
      return {real_cosh(z.re) * cos(z.im), times_sine(real_sinh(z.re), z.im, sign(z.re))};
    default:
      return {real_sinh(z.re) * cos(z.im), times_sine(real_cosh(z.re), z.im, z.re.number(1))};
  }
}

bool is_unknown(const hlo::Computation&, const Instruction& instruction) {
  return real_function(instruction.opcode) != nullptr ||
         (instruction.opcode == Opcode::kCbrt && is_complex(instruction.shape.dtype()));
}

Value write_function(Graph& graph, const Instruction& now) {
  const Value x = graph.wrap(now.operands[0]);
  if (is_complex(x.dtype())) {
    const Parts y = complex_function(now.opcode, {real(x), imag(x)});
    return complex(y.re, y.im);
  }
  const Value y = real_function(now.opcode)(x.dtype() == f64 ? x : convert(x, f32));
  return convert(y, x.dtype());
}

}  // namespace

bool has_unknown_functions(const hlo::Module& module) {
  return any_instruction(module, is_unknown);
}

StatusOr<hlo::Module> expand_functions(const hlo::Module& module) {
  return rewritten(module, is_unknown, write_function);
}

}  // namespace heddle::pjrt
