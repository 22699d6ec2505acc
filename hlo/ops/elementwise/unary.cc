// Unary elementwise ops.
#include "heddle/hlo/ops/elementwise/elementwise.h"

namespace heddle::hlo {
namespace {

constexpr int kAnalytic = kFloats | kComplexes;

}  // namespace

// Exponentials and logarithms.
HEDDLE_UNARY(kExp, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kExpm1, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kLog, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kLog1p, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kLogistic, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kErf, Work::kMuch, kPlain, kFloats)

// Roots.
HEDDLE_UNARY(kSqrt, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kRsqrt, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kCbrt, Work::kMuch, kPlain, kAnalytic)

// Circular and hyperbolic functions, and their inverses.
HEDDLE_UNARY(kSin, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kCos, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kTan, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kAsin, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kAcos, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kAtan, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kSinh, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kCosh, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kTanh, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kAsinh, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kAcosh, Work::kMuch, kPlain, kAnalytic)
HEDDLE_UNARY(kAtanh, Work::kMuch, kPlain, kAnalytic)

// Rounding to whole numbers.
HEDDLE_UNARY(kFloor, Work::kLittle, kPlain, kFloats)
HEDDLE_UNARY(kCeil, Work::kLittle, kPlain, kFloats)
HEDDLE_UNARY(kRoundAfz, Work::kLittle, kPlain, kFloats)
HEDDLE_UNARY(kRoundEven, Work::kLittle, kPlain, kFloats)

// Sign and size.
HEDDLE_UNARY(kAbs, Work::kLittle, kPlain, kSigned | kAnalytic, real_part_of)
HEDDLE_UNARY(kNegate, Work::kLittle, kPlain, kIntegers | kAnalytic)
HEDDLE_UNARY(kSign, Work::kLittle, kPlain, kSigned | kAnalytic)
HEDDLE_UNARY(kIsFinite, Work::kLittle, kPlain, kFloats, always_pred)

// Parts of complex numbers; a real number is its own real part.
HEDDLE_UNARY(kReal, Work::kLittle, kPlain, kAnalytic, real_part_of)
HEDDLE_UNARY(kImag, Work::kLittle, kPlain, kAnalytic, real_part_of)

// Bits.
HEDDLE_UNARY(kNot, Work::kLittle, kPlain, kPreds | kIntegers)
HEDDLE_UNARY(kPopcnt, Work::kLittle, kPlain, kIntegers)
HEDDLE_UNARY(kClz, Work::kLittle, kPlain, kIntegers)

}  // namespace heddle::hlo
