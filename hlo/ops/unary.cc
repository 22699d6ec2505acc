// Unary elementwise ops, one row each. `.real` computes on double and is rounded once to the
// element type; where it is written for auto, f64 is computed in long double (libm's double is not
// good to an ulp there).
#include <cmath>

#include "heddle/hlo/ops/complex_math.h"
#include "heddle/hlo/ops/elementwise.h"
#include "heddle/hlo/ops/integer_math.h"

namespace heddle::hlo {
namespace {

namespace cm = complex_math;
namespace im = integer_math;

constexpr int kAnalytic = kFloats | kComplexes;

template <class T>
T sign_of(T x) {
  return x == 0 || x != x ? x : std::copysign(T{1}, x);
}

}  // namespace

// Exponentials and logarithms.
HEDDLE_UNARY(kExp, {.accepts = kAnalytic,
                    .real = [](double x) { return std::exp(x); },
                    .complex = [](auto z) { return cm::exp(z); }})
HEDDLE_UNARY(kExpm1, {.accepts = kAnalytic,
                      .real = [](auto x) { return std::expm1(x); },
                      .complex = [](auto z) { return cm::expm1(z); }})
HEDDLE_UNARY(kLog, {.accepts = kAnalytic,
                    .real = [](double x) { return std::log(x); },
                    .complex = [](auto z) { return cm::log(z); }})
HEDDLE_UNARY(kLog1p, {.accepts = kAnalytic,
                      .real = [](auto x) { return std::log1p(x); },
                      .complex = [](auto z) { return cm::log1p(z); }})
HEDDLE_UNARY(kLogistic, {.accepts = kAnalytic,
                         .real = [](auto x) { return 1 / (1 + std::exp(-x)); },
                         .complex = [](auto z) { return cm::logistic(z); }})
HEDDLE_UNARY(kErf, {.accepts = kFloats, .real = [](double x) { return std::erf(x); }})

// Roots. The square root of a double is rounded right as it is; through long double it would be
// rounded twice.
HEDDLE_UNARY(kSqrt, {.accepts = kAnalytic,
                     .real = [](double x) { return std::sqrt(x); },
                     .complex = [](auto z) { return cm::sqrt(z); }})
HEDDLE_UNARY(kRsqrt, {.accepts = kAnalytic,
                      .real = [](auto x) { return 1 / std::sqrt(x); },
                      .complex = [](auto z) { return cm::rsqrt(z); }})
HEDDLE_UNARY(kCbrt, {.accepts = kAnalytic,
                     .real = [](auto x) { return std::cbrt(x); },
                     .complex = [](auto z) { return cm::cbrt(z); }})

// Circular and hyperbolic functions, and their inverses.
HEDDLE_UNARY(kSin, {.accepts = kAnalytic,
                    .real = [](double x) { return std::sin(x); },
                    .complex = [](auto z) { return cm::sin(z); }})
HEDDLE_UNARY(kCos, {.accepts = kAnalytic,
                    .real = [](double x) { return std::cos(x); },
                    .complex = [](auto z) { return cm::cos(z); }})
HEDDLE_UNARY(kTan, {.accepts = kAnalytic,
                    .real = [](double x) { return std::tan(x); },
                    .complex = [](auto z) { return cm::tan(z); }})
HEDDLE_UNARY(kAsin, {.accepts = kAnalytic,
                     .real = [](double x) { return std::asin(x); },
                     .complex = [](auto z) { return std::asin(z); }})
HEDDLE_UNARY(kAcos, {.accepts = kAnalytic,
                     .real = [](double x) { return std::acos(x); },
                     .complex = [](auto z) { return std::acos(z); }})
HEDDLE_UNARY(kAtan, {.accepts = kAnalytic,
                     .real = [](double x) { return std::atan(x); },
                     .complex = [](auto z) { return std::atan(z); }})
HEDDLE_UNARY(kSinh, {.accepts = kAnalytic,
                     .real = [](auto x) { return std::sinh(x); },
                     .complex = [](auto z) { return std::sinh(z); }})
HEDDLE_UNARY(kCosh, {.accepts = kAnalytic,
                     .real = [](auto x) { return std::cosh(x); },
                     .complex = [](auto z) { return std::cosh(z); }})
HEDDLE_UNARY(kTanh, {.accepts = kAnalytic,
                     .real = [](auto x) { return std::tanh(x); },
                     .complex = [](auto z) { return cm::tanh(z); }})
HEDDLE_UNARY(kAsinh, {.accepts = kAnalytic,
                      .real = [](auto x) { return std::asinh(x); },
                      .complex = [](auto z) { return std::asinh(z); }})
HEDDLE_UNARY(kAcosh, {.accepts = kAnalytic,
                      .real = [](auto x) { return std::acosh(x); },
                      .complex = [](auto z) { return std::acosh(z); }})
HEDDLE_UNARY(kAtanh, {.accepts = kAnalytic,
                      .real = [](auto x) { return std::atanh(x); },
                      .complex = [](auto z) { return std::atanh(z); }})

// Rounding to whole numbers; -0 and what is rounded up to it stay negative.
HEDDLE_UNARY(kFloor, {.accepts = kFloats, .real = [](double x) { return std::floor(x); }})
HEDDLE_UNARY(kCeil, {.accepts = kFloats, .real = [](double x) { return std::ceil(x); }})
HEDDLE_UNARY(kRoundAfz, {.accepts = kFloats, .real = [](double x) { return std::round(x); }})
HEDDLE_UNARY(kRoundEven, {.accepts = kFloats, .real = [](double x) { return std::nearbyint(x); }})

// Sign and size. The least signed integer has no positive counterpart: abs and negate leave it as
// it is.
HEDDLE_UNARY(kAbs,
             {.accepts = kSigned | kAnalytic,
              .result = real_part_of,
              .real = [](double x) { return std::fabs(x); },
              .integer = [](auto x,
                            int) { return static_cast<int64_t>(x) < 0 ? im::subtract(0, x) : x; },
              .complex = [](auto z) { return decltype(z)(cm::abs(z)); }})
HEDDLE_UNARY(kNegate, {.accepts = kIntegers | kAnalytic,
                       .real = [](double x) { return -x; },
                       .integer = [](auto x, int) { return im::subtract(0, x); },
                       .complex = [](auto z) { return -z; }})
HEDDLE_UNARY(kSign, {.accepts = kSigned | kAnalytic,
                     .real = [](double x) { return sign_of(x); },
                     .integer =
                         [](auto x, int) {
                           return x == 0 ? 0 : static_cast<int64_t>(x) < 0 ? -1 : 1;
                         },
                     .complex = [](auto z) { return cm::sign(z); }})
HEDDLE_UNARY(kIsFinite, {.accepts = kFloats, .result = always_pred, .real = [](double x) {
                           return std::isfinite(x);
                         }})

// Parts of complex numbers; a real number is its own real part.
HEDDLE_UNARY(kReal, {.accepts = kAnalytic,
                     .result = real_part_of,
                     .real = [](double x) { return x; },
                     .complex = [](auto z) { return decltype(z)(z.real()); }})
HEDDLE_UNARY(kImag, {.accepts = kAnalytic,
                     .result = real_part_of,
                     .real = [](double) { return 0.0; },
                     .complex = [](auto z) { return decltype(z)(z.imag()); }})

// Bits.
HEDDLE_UNARY(kNot, {.accepts = kPreds | kIntegers, .integer = [](auto x, int bits) {
                      return im::low_bits(~static_cast<uint64_t>(x), bits);
                    }})
HEDDLE_UNARY(kPopcnt, {.accepts = kIntegers,
                       .integer = [](auto x, int bits) { return im::population_count(x, bits); }})
HEDDLE_UNARY(kClz, {.accepts = kIntegers,
                    .integer = [](auto x, int bits) { return im::count_leading_zeros(x, bits); }})

}  // namespace heddle::hlo
