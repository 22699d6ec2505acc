// Unary elementwise ops. `.real` computes on double and is rounded once to the
// element type; where it is written for auto, f64 is computed in long double (libm's double is not
// good to an ulp there).
#include <cmath>

#include "heddle/interpreter/ops/elementwise/complex_math.h"
#include "heddle/interpreter/ops/elementwise/elementwise.h"
#include "heddle/interpreter/ops/elementwise/integer_math.h"

namespace heddle::interpreter {
namespace {

namespace cm = complex_math;
namespace im = integer_math;

template <class T>
T sign_of(T x) {
  return x == 0 || x != x ? x : std::copysign(T{1}, x);
}

}  // namespace

// Exponentials and logarithms.
HEDDLE_ELEMENTWISE(kExp, {.real = [](double x) { return std::exp(x); },
                          .complex = [](auto z) { return cm::exp(z); }})
HEDDLE_ELEMENTWISE(kExpm1, {.real = [](auto x) { return std::expm1(x); },
                            .complex = [](auto z) { return cm::expm1(z); }})
HEDDLE_ELEMENTWISE(kLog, {.real = [](double x) { return std::log(x); },
                          .complex = [](auto z) { return cm::log(z); }})
HEDDLE_ELEMENTWISE(kLog1p, {.real = [](auto x) { return std::log1p(x); },
                            .complex = [](auto z) { return cm::log1p(z); }})
HEDDLE_ELEMENTWISE(kLogistic, {.real = [](auto x) { return 1 / (1 + std::exp(-x)); },
                               .complex = [](auto z) { return cm::logistic(z); }})
HEDDLE_ELEMENTWISE(kErf, {.real = [](double x) { return std::erf(x); }})

// Roots. The square root of a double is rounded right as it is; through long double it would be
// rounded twice.
HEDDLE_ELEMENTWISE(kSqrt, {.real = [](double x) { return std::sqrt(x); },
                           .complex = [](auto z) { return cm::sqrt(z); }})
HEDDLE_ELEMENTWISE(kRsqrt, {.real = [](auto x) { return 1 / std::sqrt(x); },
                            .complex = [](auto z) { return cm::rsqrt(z); }})
HEDDLE_ELEMENTWISE(kCbrt, {.real = [](auto x) { return std::cbrt(x); },
                           .complex = [](auto z) { return cm::cbrt(z); }})

// Circular and hyperbolic functions, and their inverses.
HEDDLE_ELEMENTWISE(kSin, {.real = [](double x) { return std::sin(x); },
                          .complex = [](auto z) { return cm::sin(z); }})
HEDDLE_ELEMENTWISE(kCos, {.real = [](double x) { return std::cos(x); },
                          .complex = [](auto z) { return cm::cos(z); }})
HEDDLE_ELEMENTWISE(kTan, {.real = [](double x) { return std::tan(x); },
                          .complex = [](auto z) { return cm::tan(z); }})
HEDDLE_ELEMENTWISE(kAsin, {.real = [](double x) { return std::asin(x); },
                           .complex = [](auto z) { return std::asin(z); }})
HEDDLE_ELEMENTWISE(kAcos, {.real = [](double x) { return std::acos(x); },
                           .complex = [](auto z) { return std::acos(z); }})
HEDDLE_ELEMENTWISE(kAtan, {.real = [](double x) { return std::atan(x); },
                           .complex = [](auto z) { return std::atan(z); }})
HEDDLE_ELEMENTWISE(kSinh, {.real = [](auto x) { return std::sinh(x); },
                           .complex = [](auto z) { return std::sinh(z); }})
HEDDLE_ELEMENTWISE(kCosh, {.real = [](auto x) { return std::cosh(x); },
                           .complex = [](auto z) { return std::cosh(z); }})
HEDDLE_ELEMENTWISE(kTanh, {.real = [](auto x) { return std::tanh(x); },
                           .complex = [](auto z) { return cm::tanh(z); }})
HEDDLE_ELEMENTWISE(kAsinh, {.real = [](auto x) { return std::asinh(x); },
                            .complex = [](auto z) { return std::asinh(z); }})
HEDDLE_ELEMENTWISE(kAcosh, {.real = [](auto x) { return std::acosh(x); },
                            .complex = [](auto z) { return std::acosh(z); }})
HEDDLE_ELEMENTWISE(kAtanh, {.real = [](auto x) { return std::atanh(x); },
                            .complex = [](auto z) { return std::atanh(z); }})

// Rounding to whole numbers; -0 and what is rounded up to it stay negative.
HEDDLE_ELEMENTWISE(kFloor, {.real = [](double x) { return std::floor(x); }})
HEDDLE_ELEMENTWISE(kCeil, {.real = [](double x) { return std::ceil(x); }})
HEDDLE_ELEMENTWISE(kRoundAfz, {.real = [](double x) { return std::round(x); }})
HEDDLE_ELEMENTWISE(kRoundEven, {.real = [](double x) { return std::nearbyint(x); }})

// Sign and size. The least signed integer has no positive counterpart: abs and negate leave it as
// it is.
HEDDLE_ELEMENTWISE(kAbs, {.real = [](double x) { return std::fabs(x); },
                          .integer =
                              [](auto x, int) {
                                return static_cast<int64_t>(x) < 0 ? im::subtract(0, x) : x;
                              },
                          .complex = [](auto z) { return decltype(z)(cm::abs(z)); }})
HEDDLE_ELEMENTWISE(kNegate, {.real = [](double x) { return -x; },
                             .integer = [](auto x, int) { return im::subtract(0, x); },
                             .complex = [](auto z) { return -z; }})
HEDDLE_ELEMENTWISE(kSign, {.real = [](double x) { return sign_of(x); },
                           .integer =
                               [](auto x, int) {
                                 return x == 0 ? 0 : static_cast<int64_t>(x) < 0 ? -1 : 1;
                               },
                           .complex = [](auto z) { return cm::sign(z); }})
HEDDLE_ELEMENTWISE(kIsFinite, {.real = [](double x) { return std::isfinite(x); }})

// Parts of complex numbers; a real number is its own real part.
HEDDLE_ELEMENTWISE(kReal, {.real = [](double x) { return x; },
                           .complex = [](auto z) { return decltype(z)(z.real()); }})
HEDDLE_ELEMENTWISE(kImag, {.real = [](double) { return 0.0; },
                           .complex = [](auto z) { return decltype(z)(z.imag()); }})

// Bits.
HEDDLE_ELEMENTWISE(kNot, {.integer = [](auto x, int bits) {
                     return im::low_bits(~static_cast<uint64_t>(x), bits);
                   }})
HEDDLE_ELEMENTWISE(kPopcnt,
                   {.integer = [](auto x, int bits) { return im::population_count(x, bits); }})
HEDDLE_ELEMENTWISE(kClz,
                   {.integer = [](auto x, int bits) { return im::count_leading_zeros(x, bits); }})

}  // namespace heddle::interpreter
