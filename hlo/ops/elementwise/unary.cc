// Unary elementwise ops.
#include "heddle/hlo/ops/elementwise/elementwise.h"

namespace heddle::hlo {
namespace {

constexpr int kAnalytic = kFloats | kComplexes;

}  // namespace

// Exponentials and logarithms.
HEDDLE_UNARY(kExp, kAnalytic)
HEDDLE_UNARY(kExpm1, kAnalytic)
HEDDLE_UNARY(kLog, kAnalytic)
HEDDLE_UNARY(kLog1p, kAnalytic)
HEDDLE_UNARY(kLogistic, kAnalytic)
HEDDLE_UNARY(kErf, kFloats)

// Roots.
HEDDLE_UNARY(kSqrt, kAnalytic)
HEDDLE_UNARY(kRsqrt, kAnalytic)
HEDDLE_UNARY(kCbrt, kAnalytic)

// Circular and hyperbolic functions, and their inverses.
HEDDLE_UNARY(kSin, kAnalytic)
HEDDLE_UNARY(kCos, kAnalytic)
HEDDLE_UNARY(kTan, kAnalytic)
HEDDLE_UNARY(kAsin, kAnalytic)
HEDDLE_UNARY(kAcos, kAnalytic)
HEDDLE_UNARY(kAtan, kAnalytic)
HEDDLE_UNARY(kSinh, kAnalytic)
HEDDLE_UNARY(kCosh, kAnalytic)
HEDDLE_UNARY(kTanh, kAnalytic)
HEDDLE_UNARY(kAsinh, kAnalytic)
HEDDLE_UNARY(kAcosh, kAnalytic)
HEDDLE_UNARY(kAtanh, kAnalytic)

// Rounding to whole numbers.
HEDDLE_UNARY(kFloor, kFloats)
HEDDLE_UNARY(kCeil, kFloats)
HEDDLE_UNARY(kRoundAfz, kFloats)
HEDDLE_UNARY(kRoundEven, kFloats)

// Sign and size.
HEDDLE_UNARY(kAbs, kSigned | kAnalytic, real_part_of)
HEDDLE_UNARY(kNegate, kIntegers | kAnalytic)
HEDDLE_UNARY(kSign, kSigned | kAnalytic)
HEDDLE_UNARY(kIsFinite, kFloats, always_pred)

// Parts of complex numbers; a real number is its own real part.
HEDDLE_UNARY(kReal, kAnalytic, real_part_of)
HEDDLE_UNARY(kImag, kAnalytic, real_part_of)

// Bits.
HEDDLE_UNARY(kNot, kPreds | kIntegers)
HEDDLE_UNARY(kPopcnt, kIntegers)
HEDDLE_UNARY(kClz, kIntegers)

}  // namespace heddle::hlo
