// Binary elementwise ops.
#include <cmath>

#include "heddle/interpreter/ops/elementwise/complex_math.h"
#include "heddle/interpreter/ops/elementwise/elementwise.h"
#include "heddle/interpreter/ops/elementwise/integer_math.h"

namespace heddle::interpreter {
namespace {

namespace cm = complex_math;
namespace im = integer_math;

// NaN if either is NaN; +0 above -0.
double real_maximum(double x, double y) {
  if (x != x) return x;
  if (y != y || y > x) return y;
  return x == y && std::signbit(x) ? y : x;
}
double real_minimum(double x, double y) {
  if (x != x) return x;
  if (y != y || y < x) return y;
  return x == y && std::signbit(y) ? y : x;
}

}  // namespace

// Arithmetic. On pred, add is "or" and multiply is "and".
HEDDLE_ELEMENTWISE(kAdd, {.real = [](double x, double y) { return x + y; },
                          .integer = [](auto x, auto y, int) { return im::add(x, y); },
                          .complex = [](std::complex<double> x,
                                        std::complex<double> y) { return x + y; }})
HEDDLE_ELEMENTWISE(kSubtract, {.real = [](double x, double y) { return x - y; },
                               .integer = [](auto x, auto y, int) { return im::subtract(x, y); },
                               .complex = [](std::complex<double> x,
                                             std::complex<double> y) { return x - y; }})
HEDDLE_ELEMENTWISE(kMultiply, {.real = [](double x, double y) { return x * y; },
                               .integer = [](auto x, auto y, int) { return im::multiply(x, y); },
                               .complex = [](auto x, auto y) { return cm::multiply(x, y); }})
HEDDLE_ELEMENTWISE(kDivide, {.real = [](double x, double y) { return x / y; },
                             .integer = [](auto x, auto y, int) { return im::divide(x, y); },
                             .complex = [](auto x, auto y) { return cm::divide(x, y); }})
HEDDLE_ELEMENTWISE(kRemainder, {.real = [](double x, double y) { return std::fmod(x, y); },
                                .integer = [](auto x, auto y, int) { return im::remainder(x, y); }})
HEDDLE_ELEMENTWISE(kPower, {.real = [](double x, double y) { return std::pow(x, y); },
                            .integer = [](auto x, auto y, int) { return im::power(x, y); },
                            .complex = [](auto x, auto y) { return cm::power(x, y); }})
HEDDLE_ELEMENTWISE(kAtan2, {.real = [](double x, double y) { return std::atan2(x, y); },
                            .complex = [](auto x, auto y) { return cm::atan2(x, y); }})
HEDDLE_ELEMENTWISE(kMulhi, {.integer = [](auto x, auto y, int bits) {
                     return im::multiply_high(x, y, bits);
                   }})

// Order.
HEDDLE_ELEMENTWISE(kMaximum, {.real = [](double x, double y) { return real_maximum(x, y); },
                              .integer = [](auto x, auto y, int) { return x < y ? y : x; },
                              .complex = [](auto x, auto y) { return cm::is_less(x, y) ? y : x; }})
HEDDLE_ELEMENTWISE(kMinimum, {.real = [](double x, double y) { return real_minimum(x, y); },
                              .integer = [](auto x, auto y, int) { return y < x ? y : x; },
                              .complex = [](auto x, auto y) { return cm::is_less(y, x) ? y : x; }})

// Bits.
HEDDLE_ELEMENTWISE(kAnd, {.integer = [](auto x, auto y, int) { return x & y; }})
HEDDLE_ELEMENTWISE(kOr, {.integer = [](auto x, auto y, int) { return x | y; }})
HEDDLE_ELEMENTWISE(kXor, {.integer = [](auto x, auto y, int) { return x ^ y; }})
HEDDLE_ELEMENTWISE(kShiftLeft,
                   {.integer = [](auto x, auto y, int bits) { return im::shift_left(x, y, bits); }})
HEDDLE_ELEMENTWISE(kShiftRightLogical, {.integer = [](auto x, auto y, int bits) {
                     return im::shift_right_logical(x, y, bits);
                   }})
HEDDLE_ELEMENTWISE(kShiftRightArithmetic, {.integer = [](auto x, auto y, int bits) {
                     return im::shift_right_arithmetic(x, y, bits);
                   }})

// The operands are loaded as complex numbers: x + 0i and y + 0i.
HEDDLE_ELEMENTWISE(kComplex, {.complex = [](std::complex<double> x, std::complex<double> y) {
                     return std::complex<double>(x.real(), y.real());
                   }})

}  // namespace heddle::interpreter
